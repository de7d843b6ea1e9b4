import t from "tap";
import { LateMovements } from "../../../core/money/late-movements.ts";
import { systemMachine } from "../../../core/process/machine.ts";
import { StubLedger } from "./stub-ledger.ts";

const MOVEMENT = {
  accountId: "A",
  amountMicroVnd: 5n,
  reference: "r1",
  kind: "topup",
  reason: null,
} as const;

// The retries do not keep a process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

t.test("a movement whose commit is in doubt is repeated until it is done", async (t) => {
  const late = new LateMovements({} as never, new StubLedger(), systemMachine);
  let tries = 0;
  await late.complete(MOVEMENT, async () => {
    tries += 1;
    if (tries < 2) throw new Error("the ledger is down");
  });
  t.equal(tries, 2);
});

t.test("the same movement is repeated by one loop at a time", async (t) => {
  const late = new LateMovements({} as never, new StubLedger(), systemMachine);
  const tried: string[] = [];
  const first = late.complete(MOVEMENT, async () => {
    tried.push("first");
    if (tried.length < 2) throw new Error("the ledger is down");
  });
  await late.complete(MOVEMENT, async () => void tried.push("second"));
  await first;
  t.strictSame(tried, ["first", "first"]);
});
