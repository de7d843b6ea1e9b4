/** A sleep that `wake` ends early. One sleep at a time. */
export class WakeableSleep {
  private finish: (() => void) | undefined = undefined;

  /** Resolves after `ms`, or at the next `wake`. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.finish = undefined;
        resolve();
      };
      const timer = setTimeout(finish, ms);
      this.finish = finish;
    });
  }

  /** Does nothing outside of a sleep: cheap enough to call at every post. */
  wake(): void {
    this.finish?.();
  }
}
