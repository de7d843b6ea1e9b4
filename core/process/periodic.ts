import { type Machine, systemMachine } from "./machine.ts";
import { WakeableSleep } from "./wakeable-sleep.ts";

/** Runs `round` in a loop; it returns the delay before the next run. `hurry` cuts the delay short. */
export class PeriodicTask {
  private readonly pause: WakeableSleep;
  private running: Promise<void> | undefined;
  private stopping = false;

  /** `round` must not reject. */
  constructor(
    private readonly round: () => Promise<number>,
    machine: Machine = systemMachine,
  ) {
    this.pause = new WakeableSleep(machine);
  }

  start(afterMs = 0): void {
    this.running ??= this.run(afterMs);
  }

  /** Starts the next run now if none is running. */
  hurry(): void {
    this.pause.wake();
  }

  /** Resolves when the current run has ended. No run starts after it. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.pause.wake();
    await this.running;
  }

  private async run(afterMs: number): Promise<void> {
    if (afterMs > 0) await this.pause.sleep(afterMs);
    while (!this.stopping) {
      const waitMs = await this.round();
      if (!this.stopping && waitMs > 0) await this.pause.sleep(waitMs);
    }
  }
}
