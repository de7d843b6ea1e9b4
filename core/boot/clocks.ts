import type { ClockDifference } from "../plugin/services.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { PeriodicTask } from "../process/periodic.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";

/** A clock of another computer, which is compared with this gateway's. */
export interface ClockReader {
  /** The store's name in messages and in the metric: `Redis` or `Postgres`. */
  readonly name: string;
  /** Returns the time of that clock, in ms since 1970. */
  read(): Promise<number>;
}

interface ClocksOptions {
  readonly clock: Clock;
  readonly readers: readonly ClockReader[];
  /** Largest difference at which a gateway starts; 0 allows all. */
  readonly differenceMsMax: number;
  readonly log: Log;
}

/** The ledger refuses calls from before this time: see `core/money/ledger/commit.ts`. */
const EARLIEST_MS = Date.UTC(2020, 0);
const NOTABLE_MS = 1_000;
const RECHECK_MS = 60_000;
const READ_TIMEOUT_MS = 5_000;
const LOG_EVERY_MS = 600_000;
const GATEWAY = "this gateway";

/**
 * Compares the clock of this gateway with those of Redis and Postgres. Calls are recorded with the gateway's time,
 * sessions and reports use that of Postgres, and epochs that of Redis.
 */
export class Clocks {
  private readonly throttled: ThrottledLog;
  private readonly task: PeriodicTask;
  /** The differences as last measured, relative to this gateway's clock. Set here alone. */
  differences: readonly ClockDifference[] = [];

  constructor(private readonly options: ClocksOptions) {
    this.throttled = new ThrottledLog(options.log, { everyMs: LOG_EVERY_MS });
    this.task = new PeriodicTask(async () => {
      await this.measure();
      return RECHECK_MS;
    });
  }

  /** Measures, and throws if a clock is too far off to start with. Then measures again every minute. */
  async start(): Promise<void> {
    const { clock, differenceMsMax } = this.options;
    if (clock.now() < EARLIEST_MS) {
      throw new Error(
        `the clock of this gateway says ${new Date(clock.now()).toISOString()}: every call would be ` +
          "refused by the ledger. Set the clock, for example with NTP, then start again",
      );
    }
    await this.measure();
    const worst = farthestOff(this.differences);
    if (worst !== undefined && differenceMsMax > 0 && worst.differenceMs > differenceMsMax) {
      throw new Error(
        `${worst.text}, and at most ${differenceMsMax / 1_000} s are allowed ` +
          "(limits.clock_difference_seconds). Set the clock that is wrong, for example with NTP, then start again",
      );
    }
    this.task.start();
  }

  stop(): void {
    void this.task.stop();
  }

  private async measure(): Promise<void> {
    const { readers, log } = this.options;
    const measured = await Promise.all(
      readers.map((reader) =>
        this.compare(reader).catch((error: unknown) => {
          log.debug({ err: error, clock: reader.name }, "cannot read a clock");
          return [];
        }),
      ),
    );
    this.differences = measured.flat();
    const worst = farthestOff(this.differences);
    if (worst === undefined || worst.differenceMs <= NOTABLE_MS) return;
    this.throttled.warn({ clock: worst.text }, "clocks differ; run NTP on every machine");
  }

  private async compare({ name, read }: ClockReader): Promise<ClockDifference[]> {
    const { clock } = this.options;
    const sentMs = clock.monotonic();
    const beforeMs = clock.now();
    const thereMs = await withTimeout(read(), READ_TIMEOUT_MS);
    if (thereMs === TIMED_OUT)
      throw new Error(`${name} did not reply within ${READ_TIMEOUT_MS} ms`);
    if (Number.isNaN(thereMs)) throw new Error(`${name} does not say its time`);
    const tripMs = clock.monotonic() - sentMs;
    const aheadMs = thereMs - (beforeMs + tripMs / 2);
    // The clock may have been read at any instant of the round trip.
    const sureMs = Math.max(0, Math.abs(aheadMs) - tripMs / 2);
    return [{ clock: name, aheadMs: Math.sign(aheadMs) * sureMs }];
  }
}

/**
 * Returns the clock that is farthest from the middle one, with its difference from each other clock; undefined if there
 * is only this gateway's.
 */
function farthestOff(
  differences: readonly ClockDifference[],
): { text: string; differenceMs: number } | undefined {
  const clocks = [{ clock: GATEWAY, aheadMs: 0 }, ...differences];
  const ordered = clocks.toSorted((a, b) => a.aheadMs - b.aheadMs);
  const [first, last] = [ordered[0], ordered.at(-1)];
  if (first === undefined || last === undefined || first === last) return undefined;
  const middleMs = (ordered[1] ?? last).aheadMs;
  const isFirst = middleMs - first.aheadMs > last.aheadMs - middleMs;
  const off = isFirst ? first : last;
  const others = clocks.filter((each) => each !== off);
  const text = others
    .map(({ clock, aheadMs }) => `${seconds(off.aheadMs - aheadMs)} ${clock}`)
    .join(", and ");
  return {
    text: `the clock of ${off.clock} is ${text}`,
    differenceMs: last.aheadMs - first.aheadMs,
  };
}

function seconds(aheadMs: number): string {
  const side = aheadMs < 0 ? "behind" : "ahead of";
  return `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${side}`;
}
