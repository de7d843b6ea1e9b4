import type { Redis } from "ioredis";

const TICKS = 9;

/**
 * Gives up a connection that owes answers and stays silent for `timeoutMs`, so that whoever waits for them is
 * told. Silence is counted in ticks of this process's own event loop, not by the clock: after a stall its timers
 * run before its sockets are read, and a Redis that answered long ago would be taken for dead. One timer for all
 * commands under way, where a timer each costs 1.5 µs.
 */
export class ReplyTimeout {
  private readonly redis: Redis;
  private readonly timer: NodeJS.Timeout;
  private stream: Redis["stream"] | undefined;
  private bytesRead = 0;
  private ticks = 0;

  constructor(redis: Redis, timeoutMs: number) {
    this.redis = redis;
    this.timer = setInterval(() => this.tick(timeoutMs), timeoutMs / TICKS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(timeoutMs: number): void {
    const { stream, commandQueue } = this.redis;
    const bytesRead = stream?.bytesRead ?? 0;
    const isHeard = stream !== this.stream || bytesRead !== this.bytesRead;
    this.stream = stream;
    this.bytesRead = bytesRead;
    if (isHeard || commandQueue.length === 0) {
      this.ticks = 0;
      return;
    }
    this.ticks += 1;
    if (this.ticks < TICKS) return;
    this.ticks = 0;
    stream?.destroy(new Error(`redis was silent for ${timeoutMs} ms`));
  }
}
