import type { HoldStore, Posting } from "../contract/hold-store.ts";
import { type Machine, sleep } from "../process/machine.ts";
import { LIFETIMES } from "./lifetimes.ts";

/**
 * Posts that no store could keep, because its disk is full say. Tries each again until it is kept: what has reached a
 * client is charged. A process that is killed before that loses them.
 */
export class LatePosts {
  private readonly holdStore: HoldStore;
  private readonly machine: Machine;
  private readonly waiting = new Map<string, Posting>();
  private isRunning = false;

  constructor(holdStore: HoldStore, machine: Machine) {
    this.holdStore = holdStore;
    this.machine = machine;
  }

  /** Posts that are kept in memory only. */
  get size(): number {
    return this.waiting.size;
  }

  add(posting: Posting): void {
    this.waiting.set(posting.callId, posting);
    if (!this.isRunning) void this.run();
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.waiting.size > 0) {
      await sleep(this.machine, LIFETIMES.applyRetryMs, { unref: true });
      await this.tryAll();
    }
    this.isRunning = false;
  }

  /** Posts one after the other, up to the first that fails. Never rejects. */
  private async tryAll(): Promise<void> {
    for (const [callId, posting] of this.waiting) {
      try {
        await this.holdStore.post(posting);
      } catch {
        return;
      }
      this.waiting.delete(callId);
    }
  }
}
