import { setTimeout as delay } from "node:timers/promises";

/**
 * A reading that all share who ask before it begins. One begins at most every `pauseMs`, so strangers who ask all the time
 * take little from calls. No reading is from before it was asked for.
 */
export class SharedReading<Value> {
  private next: Promise<Value> | undefined;
  private beganMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly read: () => Promise<Value>,
    private readonly pauseMs: number,
  ) {}

  get(): Promise<Value> {
    this.next ??= this.begin();
    return this.next;
  }

  private async begin(): Promise<Value> {
    // Without a pause too, `next` must be set before it is taken away.
    await undefined;
    // A timer may fire early.
    for (let waitMs = this.waitMs(); waitMs > 0; waitMs = this.waitMs()) await delay(waitMs);
    this.next = undefined;
    this.beganMs = performance.now();
    return this.read();
  }

  private waitMs(): number {
    return this.beganMs + this.pauseMs - performance.now();
  }
}
