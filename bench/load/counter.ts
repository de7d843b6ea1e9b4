import { performance } from "node:perf_hooks";
import { build, type Histogram } from "hdr-histogram-js";
import type { Connection } from "./connection.ts";
import type { Failure, GeneratorHealth, Percentiles, Report, Second } from "./job.ts";
import { threadTimes } from "./thread-times.ts";

const TIME_US_MAX = 3_600_000_000;
/** Kinds of failures beyond this many are counted as one. */
const KINDS_MAX = 50;
const COLUMNS_A_DECADE = 20;
/** A header that states the cost of a call, such as `x-svc-cost-vnd`. */
const COST = /\r\nx-[a-z-]*-cost(?:-[a-z]+)?: *(\d+)(?:\.(\d{0,6}))?/i;

/** Counts the replies of one job and their times. */
export class Counter {
  private calls = 0;
  private errors = 0;
  private firstError: string | undefined = undefined;
  private readonly failures = new Map<string, { count: number; readonly body: string }>();
  queued = 0;
  private events = 0;
  private bytes = 0;
  private maybeCharged = 0;
  private costedCalls = 0;
  private costMicro = 0n;
  private readonly startedAtMs = performance.now();
  private readonly latencies = histogram(3);
  private readonly firstTokens = histogram(3);
  private readonly gaps = histogram(3);
  private readonly late = histogram(3);
  private readonly columns: number[] = [];
  private readonly timeline = new Timeline();
  private readonly own = watchThread();

  /** Records the reply that a connection holds. */
  add(connection: Connection, failure: string | undefined): void {
    const { parser, dueAtMs, tokenAtMs, gapsUs } = connection;
    if (failure !== undefined) {
      if (!/^HTTP [345]/.test(failure)) this.maybeCharged++;
      return this.addFailure(failure, parser.beginning.toString());
    }
    const us = usOf(performance.now() - dueAtMs);
    this.calls++;
    this.events += parser.events;
    this.bytes += parser.bodyBytes;
    this.latencies.recordValue(us);
    const column = Math.floor(Math.log10(us) * COLUMNS_A_DECADE);
    this.columns[column] = (this.columns[column] ?? 0) + 1;
    if (tokenAtMs > 0) this.firstTokens.recordValue(usOf(tokenAtMs - dueAtMs));
    for (const gapUs of gapsUs) this.gaps.recordValue(Math.min(TIME_US_MAX, gapUs));
    this.addCost(parser.head);
    this.timeline.add(us);
  }

  /** Records a call without a good reply, with the beginning of the reply that came. */
  addFailure(failure: string, body: string): void {
    this.errors++;
    this.firstError ??= `${failure}: ${body}`;
    const kind = this.failures.size < KINDS_MAX || this.failures.has(failure) ? failure : "others";
    const found = this.failures.get(kind);
    if (found) found.count++;
    else this.failures.set(kind, { count: 1, body });
    this.timeline.add(undefined);
  }

  /** Records by how much a call left later than it was due because of the generator. */
  addLate(ms: number): void {
    this.late.recordValue(usOf(ms));
  }

  /** Returns the replies of the seconds that are over. */
  seconds(): readonly Second[] {
    return this.timeline.until(performance.now());
  }

  get health(): GeneratorHealth {
    return { lateUs: percentilesOf(this.late), ...this.own() };
  }

  /** `sent` of the unfinished calls had been sent. */
  report({ unfinished, sent } = { unfinished: 0, sent: 0 }): Report {
    const failures = [...this.failures].map(([kind, each]): Failure => ({ kind, ...each }));
    const optional = (of: Histogram) => (of.totalCount > 0 ? percentilesOf(of) : undefined);
    return {
      calls: this.calls,
      errors: this.errors,
      failures: failures.sort((a, b) => b.count - a.count),
      firstError: this.firstError,
      unfinished,
      maybeCharged: this.maybeCharged + sent,
      queued: this.queued,
      events: this.events,
      bytes: this.bytes,
      seconds: (performance.now() - this.startedAtMs) / 1000,
      latencyUs: percentilesOf(this.latencies),
      firstTokenUs: optional(this.firstTokens),
      gapUs: optional(this.gaps),
      columns: this.columns.flatMap((calls, at) =>
        calls > 0 ? [[10 ** (at / COLUMNS_A_DECADE), calls] as const] : [],
      ),
      timeline: this.timeline.end(performance.now()),
      costs: { calls: this.costedCalls, micro: String(this.costMicro) },
      generator: this.health,
    };
  }

  private addCost(head: string): void {
    const found = COST.exec(head);
    if (!found) return;
    this.costedCalls++;
    this.costMicro += BigInt(found[1]! + (found[2] ?? "").padEnd(6, "0"));
  }
}

/** The replies of each second, by when they ended. */
class Timeline {
  private readonly startedAtMs = performance.now();
  private readonly over: Second[] = [];
  private readonly times = histogram(2);
  private errors = 0;

  /** Adds a good reply by its time, or a failed call. */
  add(us: number | undefined): void {
    this.until(performance.now());
    if (us === undefined) this.errors++;
    else this.times.recordValue(us);
  }

  until(nowMs: number): readonly Second[] {
    while (nowMs - this.startedAtMs >= (this.over.length + 1) * 1_000) this.next();
    return this.over;
  }

  /** Returns all seconds, also the last, which is not over. */
  end(nowMs: number): readonly Second[] {
    this.until(nowMs);
    if (this.times.totalCount + this.errors > 0) this.next();
    return this.over;
  }

  private next(): void {
    const at = (percentile: number) => this.times.getValueAtPercentile(percentile);
    const { totalCount: calls } = this.times;
    this.over.push({ calls, errors: this.errors, p50Us: at(50), p99Us: at(99) });
    if (calls > 0) this.times.reset();
    this.errors = 0;
  }
}

function histogram(digits: 2 | 3): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: TIME_US_MAX,
    numberOfSignificantValueDigits: digits,
    bitBucketSize: 32,
  });
}

function percentilesOf(of: Histogram): Percentiles {
  const at = (percentile: number) => of.getValueAtPercentile(percentile);
  return { p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: at(100) };
}

function usOf(ms: number): number {
  return Math.min(TIME_US_MAX, Math.max(1, Math.round(ms * 1_000)));
}

/** Returns a function that returns how busy this thread was since, and for how long it waited for a core. */
function watchThread(): () => Omit<GeneratorHealth, "lateUs"> {
  const startedAtMs = performance.now();
  const loop = performance.eventLoopUtilization();
  const waited = process.platform === "linux" ? threadTimes() : () => ({ waitedMs: 0 });
  const before = waited().waitedMs;
  return () => ({
    busy: performance.eventLoopUtilization(loop).utilization,
    waitedForCore: (waited().waitedMs - before) / (performance.now() - startedAtMs),
  });
}
