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

/** Returns the text of a scrape: the counts of all workers, added up. */
export function sumText(
  own: readonly Metric[],
  { worker, others }: NonNullable<Awaited<ReturnType<Services["workers"]["ask"]>>>,
): Promise<string> {
  const all = [labelled(own, worker)];
  for (const { worker, report } of others) if (isReport(report)) all.push(labelled(report, worker));
  return AggregatorRegistry.aggregate(all).metrics();
}

/** Returns how many workers have not reported in time. */
export function silentOf(
  reports: NonNullable<Awaited<ReturnType<Services["workers"]["ask"]>>> | undefined,
): number {
  return reports?.others.filter(({ isOld }) => isOld).length ?? 0;
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
