import t from "tap";
import { ThrottledLog } from "../../../core/process/throttled-log.ts";
import { recordedLog } from "../../support/log.ts";

t.test(
  "a repeated line is logged at once, then every ten seconds with the number of lines left out",
  async (t) => {
    const { log, lines } = recordedLog();
    let nowMs = 0;
    const throttled = new ThrottledLog(log, { nowMs: () => nowMs });
    for (; nowMs < 25_000; nowMs += 100) throttled.warn({ at: nowMs }, "away");
    throttled.warn({}, "something else");
    t.strictSame(
      lines.map(({ at, suppressed, msg }) => [msg, at, suppressed]),
      [
        ["away", 0, undefined],
        ["away", 10_000, 99],
        ["away", 20_000, 99],
        ["something else", undefined, undefined],
      ],
    );
  },
);
