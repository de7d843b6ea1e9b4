import type { Machine } from "../../process/machine.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import { FewAtOnce } from "./few-at-once.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Membership } from "./membership.ts";

/** The heartbeat of this process, and its rounds in each bucket. */
export class Rounds {
  private readonly heartbeat: Heartbeat;
  private readonly unsettled: FewAtOnce;
  private readonly tasks: ReadonlyMap<Membership, PeriodicTask>;

  constructor(heartbeat: Heartbeat, memberships: Iterable<Membership>, machine: Machine) {
    this.heartbeat = heartbeat;
    this.unsettled = new FewAtOnce(machine);
    this.tasks = new Map(
      Array.from(memberships, (membership) => {
        const step = () => membership.step(machine.monotonic());
        // A look at a settled bucket costs Redis little.
        const round = () => (membership.isSettled ? step() : this.unsettled.run(step));
        return [membership, new PeriodicTask(round, machine)];
      }),
    );
  }

  start(): void {
    this.heartbeat.start();
    for (const task of this.tasks.values()) task.start();
  }

  async stop(): Promise<void> {
    await this.heartbeat.stop();
    this.unsettled.open();
    await Promise.all(Array.from(this.tasks.values(), (task) => task.stop()));
  }

  hurry(membership: Membership): void {
    this.tasks.get(membership)?.hurry();
  }

  hurryAll(): void {
    for (const task of this.tasks.values()) task.hurry();
  }
}
