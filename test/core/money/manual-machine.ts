import { type Machine, systemMachine, type Timer } from "../../../core/process/machine.ts";

/** A machine whose time moves only with `advance`. Files and ids are real. */
export class ManualMachine implements Machine {
  readonly disk = systemMachine.disk;
  readonly uuid = systemMachine.uuid;
  private nowMs = 0;
  private readonly timers = new Set<{ atMs: number; work: () => void }>();

  now(): number {
    return this.nowMs;
  }

  monotonic(): number {
    return this.nowMs;
  }

  after(ms: number, work: () => void): Timer {
    if (!(ms >= 0)) throw new RangeError(`cannot wait ${ms} ms`);
    const timer = { atMs: this.nowMs + ms, work };
    this.timers.add(timer);
    return { close: () => this.timers.delete(timer), unref() {} };
  }

  every(ms: number, work: () => void): Timer {
    let timer: Timer;
    const again = () => {
      timer = this.after(ms, again);
      work();
    };
    timer = this.after(ms, again);
    return { close: () => timer.close(), unref() {} };
  }

  /** Moves time forward, timer by timer. Lets promises settle after each. */
  async advance(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      const due = [...this.timers].sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined || due.atMs > endMs) break;
      this.timers.delete(due);
      this.nowMs = Math.max(this.nowMs, due.atMs);
      due.work();
      await settled();
    }
    this.nowMs = endMs;
    await settled();
  }

  /** Time passes while this process stands still: its timers run late. */
  stall(ms: number): void {
    this.nowMs += ms;
  }

  get timersRunning(): number {
    return this.timers.size;
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
