/** A loop of rounds, each of which says how long to wait for the next; it can be hurried. */
export class Pulse {
  private readonly round: () => Promise<number>;
  private wake: (() => void) | undefined;
  private running: Promise<void> | undefined;
  private stopping = false;

  /** `round` must not reject. */
  constructor(round: () => Promise<number>) {
    this.round = round;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Begins the next round now, where the loop waits for it. */
  hurry(): void {
    this.wake?.();
  }

  /** Resolves when the round that is under way is over. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.wake?.();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      const waitMs = await this.round();
      if (!this.stopping && waitMs > 0) await this.sleep(waitMs);
    }
  }

  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.wake = done;
    });
  }
}
