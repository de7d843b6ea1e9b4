import type { Machine } from "../../process/machine.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import { FewAtOnce } from "./few-at-once.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Membership } from "./membership.ts";
import type { MembershipTimes } from "./membership-options.ts";
import { settledRoundMsOf } from "./quiet.ts";

/** The rounds of one bucket. */
interface BucketRounds {
  readonly task: PeriodicTask;
  /** When the last one began, by the monotonic clock. */
  atMs: number;
}

type Times = Pick<MembershipTimes, "heartbeatMs" | "leaseMs">;

/** The heartbeat of this process, and its rounds in each bucket. */
export class Rounds {
  private readonly heartbeat: Heartbeat;
  private readonly unsettled: FewAtOnce;
  private readonly buckets: ReadonlyMap<Membership, BucketRounds>;
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
    this.buckets = new Map(
      Array.from(memberships, (membership) => {
        const step = (): Promise<number> => {
          bucket.atMs = machine.monotonic();
          return membership.step(bucket.atMs);
        };
        // A look at a settled bucket costs Redis little.
        const round = () => (membership.isSettled ? step() : this.unsettled.run(step));
        const bucket: BucketRounds = {
          task: new PeriodicTask(round, machine),
          atMs: machine.monotonic(),
        };
        return [membership, bucket] as const;
      }),
    );
  }

  start(): void {
    this.heartbeat.start();
    for (const { task } of this.buckets.values()) task.start();
  }

  async stop(): Promise<void> {
    await this.heartbeat.stop();
    this.unsettled.open();
    await Promise.all(Array.from(this.buckets.values(), ({ task }) => task.stop()));
  }

  hurry(membership: Membership): void {
    this.buckets.get(membership)?.task.hurry();
  }

  /**
   * Starts the rounds of settled buckets that are due before the next heartbeat. Their looks go out with the heartbeat of
   * this turn, in one write: Redis needs more time to wake up for a look than for the look.
   */
  hurryDue(nowMs: number): void {
    for (const [membership, { task, atMs }] of this.buckets)
      if (membership.isSettled && nowMs - atMs >= this.dueMs) task.hurry();
  }

  hurryAll(): void {
    for (const { task } of this.buckets.values()) task.hurry();
  }
}
