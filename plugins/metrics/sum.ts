import { AggregatorRegistry } from "prom-client";
import type { Services } from "../../core/plugin/index.ts";

/** A metric as prom-client writes it as JSON. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** How the values of several processes become one. */
  readonly aggregator?: string;
  readonly values: readonly Sample[];
}

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** The name of a sample of a histogram, with its suffix. */
  readonly metricName?: string;
}

/** Metrics of the process itself are not summed: a sum or mean would hide a process in trouble. */
const OF_PROCESS = /^(?:process|nodejs)_/;

type Reports = NonNullable<Awaited<ReturnType<Services["workers"]["ask"]>>>;

/** Returns the text of a scrape: the counts of all workers, added up. */
export function sumText({ all }: Reports): Promise<string> {
  const reports = all.flatMap(({ worker, report }) =>
    isReport(report) ? [labelled(report, worker)] : [],
  );
  return AggregatorRegistry.aggregate(reports).metrics();
}

/** Returns how many workers have not reported in time. */
export function silentOf(reports: Reports | undefined): number {
  return reports?.all.filter(({ isOld }) => isOld).length ?? 0;
}

/**
 * Adds what the worker had counted whose place this one takes, which has died. Prometheus would take counts that fall for ones that
 * began again, and so count those of all other workers twice.
 */
export async function withCountsOf(
  before: unknown,
  own: readonly Metric[],
): Promise<readonly Metric[]> {
  if (!isReport(before)) return own;
  const counts = before.filter(({ name, type }) => type !== "gauge" && !OF_PROCESS.test(name));
  const names = new Set(counts.map(({ name }) => name));
  const [same, others] = [true, false].map((isSame) =>
    own.filter(({ name }) => names.has(name) === isSame),
  );
  const sums = await AggregatorRegistry.aggregate([same ?? [], counts]).getMetricsAsJSON();
  return [...(others ?? []), ...(sums as unknown as Metric[])];
}

function labelled(metrics: readonly Metric[], worker: number): Metric[] {
  return metrics.map((metric) => {
    if (!OF_PROCESS.test(metric.name)) return metric;
    const values = metric.values.map((one) => ({ ...one, labels: { worker, ...one.labels } }));
    return { ...metric, aggregator: "sum", values };
  });
}

/** Returns true for a report. Checks no more than that it is a list, because all workers that report run the same code. */
function isReport(report: unknown): report is Metric[] {
  return Array.isArray(report);
}
