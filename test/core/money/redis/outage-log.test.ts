import t from "tap";
import { OutageLog } from "../../../../core/money/redis/outage-log.ts";
import { recordedLog } from "../../../support/log.ts";

t.test("a start that has not connected yet logs no outage", async (t) => {
  const { log, lines } = recordedLog();
  let nowMs = 0;
  const outages = new OutageLog(log, () => nowMs);
  outages.failed("0", new Error("connecting"));
  outages.failed("1", new Error("connecting"));
  outages.recovered("0");
  outages.recovered("1");
  t.strictSame(lines, []);

  nowMs = 10;
  outages.failed("0", new Error("gone"));
  t.equal(lines.length, 1, "an outage after it is logged at once");
  outages.recovered("0");
  t.equal(lines.length, 2);
});

t.test("a start that migrated the ledger for long before it connects logs no outage", async (t) => {
  const { log, lines } = recordedLog();
  let nowMs = 0;
  const outages = new OutageLog(log, () => nowMs);
  nowMs = 60_000;
  outages.failed("0", new Error("connecting"));
  outages.recovered("0");
  t.strictSame(lines, []);
});

t.test("a start that cannot connect logs it after two seconds, once", async (t) => {
  const { log, lines } = recordedLog();
  let nowMs = 0;
  const outages = new OutageLog(log, () => nowMs);
  for (; nowMs < 10_000; nowMs += 500) outages.failed("0", new Error("connecting"));
  t.equal(lines.length, 1);
});

t.test("an outage ends in the log once every bucket is back", async (t) => {
  const { log, lines } = recordedLog();
  let nowMs = 10_000;
  const outages = new OutageLog(log, () => nowMs);
  outages.recovered("0");
  for (const bucket of ["0", "1"]) outages.failed(bucket, new Error("gone"));
  outages.recovered("0");
  t.equal(lines.length, 1, "one bucket is still away");
  outages.recovered("1");
  t.match(lines.at(-1), { msg: "Redis is reachable again" });
  outages.recovered("1");
  t.equal(lines.length, 2);
  nowMs += 60_000;
  outages.failed("0", new Error("gone again"));
  t.equal(lines.length, 3, "the next outage is logged too");
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
