import { build } from "hdr-histogram-js";
import type { Report } from "./job.ts";
import type { ResponseParser } from "./response-parser.ts";

const LATENCY_US_MAX = 120_000_000;

/** Counts the replies of one job and their latencies. */
export class Counter {
  calls = 0;
  errors = 0;
  private firstError: string | undefined = undefined;
  private events = 0;
  private bytes = 0;
  private readonly startedAtMs = performance.now();
  private readonly latencies = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LATENCY_US_MAX,
    numberOfSignificantValueDigits: 3,
    bitBucketSize: 32,
  });

  add(reply: ResponseParser, startedAtMs: number, failure: string | undefined): void {
    if (failure !== undefined) {
      this.errors++;
      this.firstError ??= `${failure}: ${reply.tail.toString()}`;
      return;
    }
    this.calls++;
    this.events += reply.events;
    this.bytes += reply.bodyBytes;
    const us = Math.round((performance.now() - startedAtMs) * 1000);
    this.latencies.recordValue(Math.min(LATENCY_US_MAX, Math.max(1, us)));
  }

  report(): Report {
    const at = (percentile: number) => this.latencies.getValueAtPercentile(percentile);
    return {
      calls: this.calls,
      errors: this.errors,
      firstError: this.firstError,
      events: this.events,
      bytes: this.bytes,
      seconds: (performance.now() - this.startedAtMs) / 1000,
      latencyUs: { p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: at(100) },
    };
  }
}
