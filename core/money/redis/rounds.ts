import type { Machine } from "../../process/machine.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import { FewAtOnce } from "./few-at-once.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Membership } from "./membership.ts";
import type { MembershipTimes } from "./membership-options.ts";
import { settledRoundMsOf } from "./quiet.ts";

type Times = Pick<MembershipTimes, "heartbeatMs" | "leaseMs">;

/** The heartbeat of this process, and its rounds in each bucket. */
export class Rounds {
  private readonly heartbeat: Heartbeat;
  private readonly unsettled: FewAtOnce;
  private readonly tasks: ReadonlyMap<Membership, PeriodicTask>;
  /** When each bucket had its last round. */
  private readonly atMs = new Map<Membership, number>();
  private readonly dueMs: number;

  constructor(
    heartbeat: Heartbeat,
    memberships: Iterable<Membership>,
    times: Times,
    machine: Machine,
  ) {
    this.heartbeat = heartbeat;
    this.dueMs = settledRoundMsOf(times) - times.heartbeatMs;
    this.unsettled = new FewAtOnce(machine);
    this.tasks = new Map(
      Array.from(memberships, (membership) => {
        const step = () => {
          const nowMs = machine.monotonic();
          this.atMs.set(membership, nowMs);
          return membership.step(nowMs);
        };
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

  /**
   * Starts the rounds of settled buckets that are due before the next heartbeat. Their looks go out with the heartbeat of
   * this turn, in one write: Redis needs more time to wake up for a look than for the look.
   */
  hurryDue(nowMs: number): void {
    for (const [membership, task] of this.tasks) {
      const lastMs = this.atMs.get(membership) ?? nowMs;
      if (membership.isSettled && nowMs - lastMs >= this.dueMs) task.hurry();
    }
  }

  hurryAll(): void {
    for (const task of this.tasks.values()) task.hurry();
  }
}
