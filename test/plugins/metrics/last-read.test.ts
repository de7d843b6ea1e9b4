import t from "tap";
import { provideReconciliation } from "../../../plugins/metrics/last-read.ts";

interface Provided {
  readonly name: string;
  value(): number | undefined;
}

t.test("a reconciliation is late by what exceeds the period of the config", async (t) => {
  const clock = { ms: 10_000_000, now: () => clock.ms };
  const run: { last?: { atMs: number } } = {};
  const late = (everySeconds: number) => {
    const all: Provided[] = [];
    const gauges = { provide: (gauge: Provided) => all.push(gauge) };
    provideReconciliation({ clock, gauges } as never, run as never, everySeconds);
    return all.find(({ name }) => name === "tollgate_reconciliation_late_seconds");
  };
  t.equal(late(0), undefined, "no one asked for any");
  const gauge = late(7_200);
  clock.ms += 7_200_000;
  t.equal(gauge?.value(), 0);
  clock.ms += 60_000;
  t.equal(gauge?.value(), 60, "there was none since the start");
  run.last = { atMs: clock.ms - 1_000 };
  t.equal(gauge?.value(), 0);
});
