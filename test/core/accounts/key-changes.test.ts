import t from "tap";
import { type AccountChange, KeyChanges } from "../../../core/accounts/key-changes.ts";
import { systemClock } from "../../../core/process/clock.ts";
import { recordedLog } from "../../support/log.ts";
import { until } from "../../support/until.ts";

t.test("each change is applied once, however often a poll returns it", async (t) => {
  const { log } = recordedLog();
  const polls: AccountChange[][] = [
    [{ accountId: "A", change: "A 1" }],
    [
      { accountId: "A", change: "A 1" },
      { accountId: "B", change: "B 1" },
    ],
    [
      { accountId: "B", change: "B 1" },
      { accountId: "A", change: "A 2" },
      { accountId: "A", change: "key of A 1" },
    ],
    [],
  ];
  const forgotten: string[] = [];
  const known = { forgetAccount: (accountId: string) => void forgotten.push(accountId) };
  const poll = async function* () {
    yield polls.shift() ?? [];
  };
  const changes = new KeyChanges(poll, known, systemClock, log);
  changes.start();
  await until("all are polled", () => polls.length === 0);
  await changes.stop();
  t.strictSame(forgotten, ["A", "B", "A", "A"]);
});
