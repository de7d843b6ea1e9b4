import { type Machine, systemMachine } from "./machine.ts";

/** A sleep that `wake` ends early. One sleep at a time. */
export class WakeableSleep {
  private finish: (() => void) | undefined = undefined;

  constructor(private readonly machine: Machine = systemMachine) {}

  /** Resolves after `ms`, or at the next `wake`. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        timer.close();
        this.finish = undefined;
        resolve();
      };
      const timer = this.machine.after(ms, finish);
      this.finish = finish;
    });
  }

  /** Ends the current sleep, if there is one. Cheap enough to call at every post. */
  wake(): void {
    this.finish?.();
  }
}
