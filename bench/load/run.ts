import { formatVnd } from "../../core/catalogue/amount.ts";
import type { Percentiles, Report } from "./job.ts";

/** A run of the load: its settings and its result, as the JSON file holds them. */
export interface Run {
  /** Names the run in a comparison. */
  readonly name: string;
  readonly startedAt: string;
  /** Without its query, which may hold a key. */
  readonly url: string;
  /** The kind of call and of load, in words. */
  readonly call: string;
  readonly load: string;
  readonly isOpenLoop: boolean;
  readonly stoppedEarly: boolean;
  readonly report: Report;
  readonly charges: Charges | undefined;
  readonly limits: readonly Limit[];
}

/** By how much the balance fell, and what the replies said. Amounts in millionths of a đ. */
export interface Charges {
  readonly chargedMicro: string;
  readonly expectedMicro: string;
  /** The good replies that stated a cost. Streams do not. */
  readonly statedBy: number;
}

/** Returns by how much more the balance fell than the replies state, in millionths of a đ, if they state all. */
export function driftOf(charges: Charges, { calls, maybeCharged }: Report): bigint | undefined {
  if (charges.statedBy < calls || maybeCharged > 0) return undefined;
  return BigInt(charges.chargedMicro) - BigInt(charges.expectedMicro);
}

/** A bound that the run had to keep. */
export interface Limit {
  readonly name: string;
  readonly bound: string;
  readonly value: string;
  readonly isKept: boolean;
}

/** A run with more failures than this share is void. */
export const VOID_ABOVE = 0.001;
const LATE_US_MAX = 5_000;
const BUSY_MAX = 0.8;
const WAITED_MAX = 0.05;

export const PERCENTILES = {
  p50: "p50",
  p90: "p90",
  p99: "p99",
  p999: "p99.9",
  max: "max",
} as const satisfies Readonly<Record<keyof Percentiles, string>>;

/** Times without which a percentile is only the longest. */
export const TIMES_MIN: Readonly<Record<keyof Percentiles, number>> = {
  ...{ p50: 1, p90: 10, p99: 100, p999: 1_000, max: 1 },
};

/** The percentiles of one kind of time that enough times support. */
export type Supported = Readonly<Partial<Percentiles>>;

/** Returns the times that a report has, by their names. */
export function timesOf(report: Report): Map<string, Supported> {
  const { calls, events, latencyUs, firstTokenUs, gapUs } = report;
  const rows = new Map<string, Supported>();
  if (calls > 0) rows.set("whole reply", supported(latencyUs, calls));
  if (firstTokenUs) rows.set("first token", supported(firstTokenUs, calls));
  if (gapUs) rows.set("between events", supported(gapUs, events));
  return rows;
}

export function supported(times: Percentiles, count: number): Supported {
  const all = Object.entries(times) as [keyof Percentiles, number][];
  return Object.fromEntries(all.filter(([name]) => count >= TIMES_MIN[name]));
}

/** Returns the cells of a row of times. A percentile without support is empty. */
export function cellsOfTimes(times: Supported): Record<string, string> {
  return cellsOf((key) => (times[key] === undefined ? "" : showTime(times[key])));
}

/** Returns the change of each percentile that both runs support, in percent. */
export function cellsOfChange(now: Supported, before: Supported): Record<string, string> {
  return cellsOf((key) => {
    const [to, from] = [now[key], before[key]];
    if (to === undefined || from === undefined || (from === 0 && to > 0)) return "";
    const percent = to === from ? 0 : Math.round((to / from - 1) * 100);
    return `${percent > 0 ? "+" : ""}${percent} %`;
  });
}

function cellsOf(cell: (key: keyof Percentiles) => string): Record<string, string> {
  const names = Object.entries(PERCENTILES) as [keyof Percentiles, string][];
  return Object.fromEntries(names.map(([key, name]) => [name, cell(key)]));
}

/** Returns what makes the figures of a run, or its comparison with an earlier one, doubtful, the worst first. */
export function warningsOf(run: Run, earlier?: Run): string[] {
  const { report, isOpenLoop, stoppedEarly, charges } = run;
  const { calls, errors, unfinished, queued, generator, maybeCharged } = report;
  const { lateUs, busy, waitedForCore } = generator;
  const found: string[] = [];
  if (errors > (calls + errors) * VOID_ABOVE) {
    const of = `${showCount(errors)} of ${showCount(calls + errors)} calls failed`;
    found.push(
      calls === 0
        ? `Void: ${of}.`
        : `Void: ${of}. The times are of the ${showCount(calls)} that succeeded, so they do not stand for this load.`,
    );
  }
  const own = [
    ...(lateUs.p99 > LATE_US_MAX ? [`sent calls up to ${showTime(lateUs.p99)} late (p99)`] : []),
    ...(busy > BUSY_MAX ? [`was busy for ${showShare(busy)} of the time`] : []),
    ...(waitedForCore > WAITED_MAX ? [`waited for a core for ${showShare(waitedForCore)}`] : []),
  ];
  if (own.length > 0) {
    found.push(
      `The load generator itself was a limit: it ${own.join(", ")}. Times include that. Run it on a machine of its own, or with less load.`,
    );
  }
  if (stoppedEarly) found.push(`Stopped early, with ${showCount(unfinished)} calls in flight.`);
  if (queued > 0) {
    found.push(
      `${showCount(queued)} calls waited because every connection was busy. Their times include it; --connections allows more.`,
    );
  }
  if (earlier && (earlier.call !== run.call || earlier.load !== run.load)) {
    found.push(`The earlier run had another load: ${earlier.call}; ${earlier.load}.`);
  }
  const drift = charges && driftOf(charges, report);
  if (charges && maybeCharged > 0) {
    found.push(
      `${showCount(maybeCharged)} calls without a good reply may have been charged too, so this run cannot judge the money.`,
    );
  } else if (charges && drift !== undefined && drift !== 0n) {
    found.push(
      `The balance fell by ${formatVnd(BigInt(charges.chargedMicro))} đ, the replies state ${formatVnd(BigInt(charges.expectedMicro))} đ. If nothing else used this account, money is wrong.`,
    );
  }
  if (!isOpenLoop) {
    found.push(
      "A closed loop sends less while the server is slow, so it hides what more calls would have met. --rate shows it.",
    );
  }
  return found;
}

/** Returns a time in microseconds as people write it. */
export function showTime(us: number): string {
  if (us < 1_000) return `${Math.round(us)} µs`;
  const ms = us / 1_000;
  if (ms < 1_000) return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`;
  return `${(ms / 1_000).toFixed(2)} s`;
}

export function showCount(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

export function showShare(share: number): string {
  const percent = share * 100;
  return `${percent.toFixed(percent !== 0 && percent < 1 ? 3 : 1)} %`;
}
