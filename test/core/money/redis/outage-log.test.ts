import t from "tap";
import { OutageLog } from "../../../../core/money/redis/outage-log.ts";
import { recordedLog } from "../../../support/log.ts";

t.test("an outage is logged once, at a start after two seconds, and its end", async (t) => {
  const { log, lines } = recordedLog();
  // The start migrated the ledger before it asked Redis.
  let nowMs = 60_000;
  const outages = new OutageLog(log, () => nowMs);
  outages.failed("0", new Error("connecting"));
  t.strictSame(lines, []);
  for (; nowMs < 70_000; nowMs += 500) outages.failed("1", new Error("connecting"));
  t.equal(lines.length, 1);
  outages.recovered("0");
  t.equal(lines.length, 1, "one bucket is still away");
  outages.recovered("1");
  t.match(lines.at(-1), { msg: "Redis is reachable again" });
  nowMs += 60_000;
  outages.failed("0", new Error("gone"));
  t.equal(lines.length, 3, "the next outage is logged at once");
});

t.test("each lease that ended with holds is logged, for money moved", async (t) => {
  const { log, lines } = recordedLog();
  const outages = new OutageLog(log, () => 0);
  for (const voidedHolds of [0, 0, 1, 3]) outages.reaped("p", voidedHolds);
  t.match(lines, [{ voidedHolds: 0 }, { voidedHolds: 1 }, { voidedHolds: 3 }]);
  t.equal(lines.length, 3);
});

t.test("a loss of data is logged, but not by each bucket", async (t) => {
  const { log, lines } = recordedLog();
  const outages = new OutageLog(log, () => 0);
  for (let bucket = 0; bucket < 16; bucket += 1) outages.moved();
  t.match(lines, [{ level: 40, msg: /Redis restarted, or lost data/ }]);
  t.equal(lines.length, 1);
});
