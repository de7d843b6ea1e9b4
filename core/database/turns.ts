import { NotConnected } from "./way.ts";

/** Lets at most `max` statements run at a time. The others wait in order, and fail after `timeoutMs`. */
export class Turns {
  private readonly timeoutMs: number;
  private readonly waiting = new Set<() => void>();
  private free: number;

  constructor(max: number, timeoutMs: number) {
    this.free = max;
    this.timeoutMs = timeoutMs;
  }

  /** Resolves when it is this statement's turn. Its owner calls `pass` after it. */
  take(): Promise<void> {
    if (this.free > 0) {
      this.free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.delete(begin);
        reject(new NotConnected(`all connections to Postgres are in use for ${this.timeoutMs} ms`));
      }, this.timeoutMs);
      this.waiting.add(begin);
    });
  }

  pass(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.free += 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}
