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

t.test("a start that cannot connect logs it after two seconds, once", async (t) => {
  const { log, lines } = recordedLog();
  let nowMs = 0;
  const outages = new OutageLog(log, () => nowMs);
  for (; nowMs < 10_000; nowMs += 500) outages.failed("0", new Error("connecting"));
  t.equal(lines.length, 1);
});
