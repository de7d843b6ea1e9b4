import {
  type EndedCall,
  PeriodicTask,
  type Services,
  ThrottledLog,
  withTimeout,
} from "../../core/plugin/index.ts";
import { addTraffic, dropTraffic } from "./traffic-minutes.ts";

const MINUTE_MS = 60_000;
const WRITE_MS = 5_000;
const STOP_MS = 2_000;
const DROP_MS = 3_600_000;
const KEPT_MS = 48 * DROP_MS;
/** Minutes that wait to be written, while the ledger is down for example. */
const MINUTES_MAX = 120;
/** Causes of one upstream in a minute; beyond it the cause is `other`. */
const CAUSES_MAX = 100;
const CAUSE_CHARACTERS_MAX = 60;
const SERVED = "served";
const FAILED = "failed";
/** Stands for an upstream in the counts of calls. */
const CALLS = "";

/** Times to a first byte are counted in ranges that each end 19 % above the one before; the first ends here. */
const FIRST_RANGE_MS = 4;
const RANGES_OF_DOUBLE = 4;
const RANGES_MAX = 80;

interface Count {
  calls: number;
  readonly firstBytes: number[];
}

/** Counts by upstream, then by cause. */
type Minute = Map<string, Map<string, Count>>;

/**
 * Counts how calls ended and of attempts at upstreams, by minute: in memory, and every 5 s in one statement, which adds
 * to the counts of the other gateways. A process that is killed loses its last seconds.
 */
export class TrafficCounter {
  private readonly services: Pick<Services, "database" | "clock">;
  private readonly log: ThrottledLog;
  private readonly task: PeriodicTask;
  private minutes = new Map<number, Minute>();
  private nextDropMs = 0;

  constructor(services: Pick<Services, "database" | "clock" | "log">) {
    this.services = services;
    this.log = new ThrottledLog(services.log);
    this.task = new PeriodicTask(async () => {
      await this.write();
      return WRITE_MS;
    });
  }

  start(): void {
    this.task.start();
  }

  /** Writes what waits, and stops. If the ledger does not reply in time, these counts are lost. */
  async stop(): Promise<void> {
    await withTimeout(
      this.task.stop().then(() => this.write()),
      STOP_MS,
    );
  }

  /** Counts an ended call, and each of its attempts. Upstreams and causes are few, whatever callers send. */
  count(call: EndedCall): void {
    const { attempts, endpoint, failedAttempts, route } = call;
    // Questions by key, of a balance for example, serve no model: they are no calls.
    if (endpoint.serves.length === 0) return;
    const minute = this.minuteOf(call.at - (call.at % MINUTE_MS));
    for (const { upstream, cause } of failedAttempts) countOf(minute, upstream, cause).calls++;
    if (route && attempts > failedAttempts.length) {
      const count = countOf(minute, route.upstream, SERVED);
      count.calls++;
      if (call.firstByteAtMs > 0) {
        const range = rangeOf(call.firstByteAtMs - call.startedMs);
        // No holes: they are not zero in JSON.
        while (count.firstBytes.length <= range) count.firstBytes.push(0);
        count.firstBytes[range] = (count.firstBytes[range] ?? 0) + 1;
      }
    }
    countOf(minute, CALLS, causeOf(call)).calls++;
  }

  private minuteOf(atMs: number): Minute {
    const known = this.minutes.get(atMs);
    if (known) return known;
    if (this.minutes.size >= MINUTES_MAX) this.minutes.delete(Math.min(...this.minutes.keys()));
    const minute: Minute = new Map();
    this.minutes.set(atMs, minute);
    return minute;
  }

  private async write(): Promise<void> {
    const { database, clock } = this.services;
    const written = this.minutes;
    this.minutes = new Map();
    try {
      if (written.size > 0) await addTraffic(database, [...written].flatMap(rowsOf));
    } catch (error) {
      this.putBack(written);
      this.log.warn({ err: error }, "cannot record the counts of calls; trying again");
      return;
    }
    const now = clock.now();
    if (now < this.nextDropMs) return;
    this.nextDropMs = now + DROP_MS;
    try {
      await dropTraffic(database, new Date(now - KEPT_MS));
    } catch (error) {
      this.log.warn({ err: error }, "cannot delete old counts of calls; trying again in an hour");
    }
  }

  /** Adds the counts that could not be written to those that came since. */
  private putBack(written: ReadonlyMap<number, Minute>): void {
    for (const [atMs, upstreams] of written) {
      const minute = this.minuteOf(atMs);
      for (const [upstream, causes] of upstreams) {
        for (const [cause, { calls, firstBytes }] of causes) {
          const count = countOf(minute, upstream, cause);
          count.calls += calls;
          for (const [range, before] of firstBytes.entries()) {
            count.firstBytes[range] = (count.firstBytes[range] ?? 0) + before;
          }
        }
      }
    }
  }
}

/** Returns what became of a call: as in the report, a reply that broke off is a failure. */
function causeOf({ status, outcome, attempts, refusal }: EndedCall): string {
  if (attempts > 0 || !refusal) {
    return status === 200 && outcome !== "broken" ? SERVED : FAILED;
  }
  const { code, type } = refusal;
  return `${status} ${code || type}`.slice(0, CAUSE_CHARACTERS_MAX);
}

function countOf(minute: Minute, upstream: string, cause: string): Count {
  let causes = minute.get(upstream);
  if (causes === undefined) {
    causes = new Map();
    minute.set(upstream, causes);
  }
  const name = causes.size < CAUSES_MAX || causes.has(cause) ? cause : "other";
  let count = causes.get(name);
  if (count === undefined) {
    count = { calls: 0, firstBytes: [] };
    causes.set(name, count);
  }
  return count;
}

function rowsOf([atMs, upstreams]: readonly [number, Minute]) {
  const at = new Date(atMs);
  return [...upstreams].flatMap(([upstream, causes]) =>
    [...causes].map(([cause, count]) => ({ at, upstream, cause, ...count })),
  );
}

function rangeOf(ms: number): number {
  const range = Math.ceil(RANGES_OF_DOUBLE * Math.log2(ms / FIRST_RANGE_MS));
  return Math.min(RANGES_MAX - 1, Math.max(0, range));
}

/**
 * Returns the time within which a share of the first bytes came, in ms and up to 19 % too high; null without any. `counts`
 * are those of each range.
 */
export function firstByteMs(counts: readonly number[], share: number): number | null {
  const wanted = counts.reduce((sum, count) => sum + count, 0) * share;
  if (wanted === 0) return null;
  let below = 0;
  const range = counts.findIndex((count) => {
    below += count;
    return below >= wanted;
  });
  return Math.round(FIRST_RANGE_MS * 2 ** (range / RANGES_OF_DOUBLE));
}
