import type { Machine } from "../../process/machine.ts";
import { LIFETIMES } from "../lifetimes.ts";

/**
 * Rounds of a process that may wait for Redis at once. A hundred processes look at all their buckets together when Redis
 * comes back or one of them joins. If they send all looks, that is a second of work for Redis, in which no process gets
 * a reply: connections are closed, and all look again. With 16 at once, 37 processes that shared two cores with Redis still
 * did so, with 4 they did not. Redis wakes up more often for that: when a hundred processes connect again, it takes 1.7 s of
 * processor time until all buckets are settled, without a limit 1.0 s.
 */
const AT_ONCE = 4;

/** Lets a few rounds run at once, in the order in which they came. */
export class FewAtOnce {
  private readonly machine: Machine;
  private readonly waiting: (() => void)[] = [];
  private running = 0;
  private isOpen = false;

  constructor(machine: Machine) {
    this.machine = machine;
  }

  async run<T>(round: () => Promise<T>): Promise<T> {
    if (this.isOpen) return round();
    if (this.running < AT_ONCE) this.running += 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    let isCounted = true;
    const makeRoom = () => {
      if (!isCounted) return;
      isCounted = false;
      const next = this.waiting.shift();
      if (next) next();
      else this.running -= 1;
    };
    const timer = this.machine.after(LIFETIMES.roundCountedMs, makeRoom);
    timer.unref();
    try {
      return await round();
    } finally {
      timer.close();
      makeRoom();
    }
  }

  /** Lets all run that wait or come from now on: a stop is not to wait for a Redis that does not reply. */
  open(): void {
    this.isOpen = true;
    for (const begin of this.waiting.splice(0)) begin();
  }
}
