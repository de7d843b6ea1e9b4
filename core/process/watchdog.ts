import { url as inspectorUrl } from "node:inspector";
import { Worker } from "node:worker_threads";
import { SCHEDSTAT } from "./processor-wait.ts";

/** Exit status of a process whose event loop stopped turning; EX_SOFTWARE of sysexits.h. */
export const STALLED_STATUS = 70;

interface WatchdogLimits {
  /** How often the thread looks. */
  readonly tickMs: number;
  /** Ticks without a turn of the event loop until the log shows its stack. */
  readonly reportTicks: number;
  /** Ticks without a turn until the process ends; `startTicks` while it starts. */
  readonly endTicks: number;
  readonly startTicks: number;
  /** The scheduler's statistics of the watched thread; by default those of Linux. */
  readonly schedstat?: string;
}

/** The data that the watchdog's thread gets. */
export interface WatchdogData extends Required<WatchdogLimits> {
  /** How often the loop has turned, and the ticks without a turn until the process ends. Shared by all threads. */
  readonly shared: Int32Array<SharedArrayBuffer>;
  readonly status: number;
}

const LIMITS: WatchdogLimits = { tickMs: 1_000, reportTicks: 5, endTicks: 15, startTicks: 300 };
/** More ticks than any process lives. */
const NEVER = 0x7fff_ffff;

/** The data for the thread that kills the process if the first one cannot end it. */
export interface KillData extends WatchdogData {
  /** How often the loop had turned when it was found blocked. */
  readonly turns: number;
}

/** Memory limits: a timer and an inspector session need no more. */
const MEMORY = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };

/**
 * Watches this thread's event loop from a thread of its own. If the loop has not turned for 5 s, the log says where it
 * stands. After 15 s, or 5 minutes of a start, the process ends with status 70, or by SIGKILL if it is in a system call,
 * so that a supervisor starts it again. That loses no posted call, while a loop that does not turn serves no request and
 * ignores SIGTERM.
 *
 * Time is counted in the thread's own ticks, so that a process that was stopped, or a machine that slept, is not ended
 * when it goes on. Time in which the loop waited for a processor does not count: on a machine with seventeen busy
 * programs a core, a loop that served 250 calls a second did not turn for 15 s, and a restart would only have cost more.
 */
export class Watchdog {
  private readonly shared = new Int32Array(new SharedArrayBuffer(8));
  private readonly beat: NodeJS.Timeout;
  private readonly endTicks: number;

  constructor(limits: WatchdogLimits = LIMITS) {
    this.endTicks = limits.endTicks;
    this.endAfter(limits.startTicks);
    const workerData: WatchdogData = {
      schedstat: SCHEDSTAT,
      ...limits,
      shared: this.shared,
      status: STALLED_STATUS,
    };
    const file = new URL("./watchdog-thread.js", import.meta.url);
    const thread = new Worker(file, { workerData, resourceLimits: MEMORY });
    thread.unref();
    // Without the thread there is no watchdog, and the gateway serves as before.
    thread.on("error", () => {});
    this.beat = setInterval(() => Atomics.add(this.shared, 0, 1), limits.tickMs / 2);
    this.beat.unref();
  }

  /** Notes that the start is complete. Until then the loop may stand for longer, as while it reads a large journal. */
  arm(): void {
    this.endAfter(this.endTicks);
  }

  private endAfter(ticks: number): void {
    // A developer's breakpoint stops the loop as well.
    Atomics.store(this.shared, 1, inspectorUrl() === undefined ? ticks : NEVER);
  }
}
