import t from "tap";
import type { Services } from "../../../core/plugin/index.ts";
import type { Standing } from "../../../plugins/metrics/ages.ts";
import type { ClaimedRun } from "../../../plugins/metrics/claimed-run.ts";
import { provideAges } from "../../../plugins/metrics/last-read.ts";

const GAUGE = "tollgate_oldest_uncommitted_seconds";
const MINUTE_MS = 60_000;

t.test("the age of the oldest uncommitted call", (t) => {
  const reading = { holds: 0, quarantined: 0 };
  for (const [name, last, failing, uncommitted, expected] of [
    ["rises while the ledger takes neither calls nor readings", reading, true, 1, 120],
    ["rises from the start on if there is no reading yet", undefined, true, 1, 180],
    [
      "is that of the reading if it is older",
      { ...reading, oldestPostMs: -MINUTE_MS },
      true,
      1,
      240,
    ],
    ["is 0 while nothing waits", reading, true, 0, 0],
    ["is 0 while calls are committed", reading, false, 1, 0],
    ["is not known before the first reading", undefined, false, 1, undefined],
  ] as const) {
    t.test(name, (t) => {
      let nowMs = 0;
      const gauges: { name: string; value(): number | undefined }[] = [];
      const services = {
        clock: { now: () => nowMs },
        gauges: { provide: (gauge: (typeof gauges)[number]) => gauges.push(gauge) },
        status: { commits: { failing }, uncommittedCalls: () => uncommitted },
      } as unknown as Services;
      const run = { last: last && { atMs: MINUTE_MS, result: last } };
      provideAges(services, run as unknown as ClaimedRun<Standing>);
      nowMs = 3 * MINUTE_MS;
      t.equal(gauges.find((gauge) => gauge.name === GAUGE)?.value(), expected);
      t.end();
    });
  }
  t.end();
});
