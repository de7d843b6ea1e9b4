import type { Machine } from "../../process/machine.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { listOf } from "../../redis/reply.ts";
import { FewAtOnce } from "./few-at-once.ts";
import type { Heartbeat } from "./heartbeat.ts";
import { noKey } from "./keys.ts";
import type { Membership } from "./membership.ts";
import type { MembershipTimes } from "./membership-options.ts";
import { settledRoundMsOf } from "./quiet.ts";
import { settledScript } from "./scripts.ts";

/** The rounds of one bucket. */
interface BucketRounds {
  readonly membership: Membership;
  readonly task: PeriodicTask;
  /** When the last round began, or the last heartbeat that was as good as one, by the monotonic clock. */
  atMs: number;
}

interface RoundsOptions {
  readonly client: RedisCommands;
  readonly prefix: string;
  readonly pulse: Heartbeat;
  readonly memberships: Iterable<Membership>;
  readonly times: Pick<MembershipTimes, "heartbeatMs" | "leaseMs">;
  readonly machine: Machine;
}

/** The heartbeat of this process, and its rounds in each bucket. */
export class Rounds {
  private readonly options: RoundsOptions;
  private readonly unsettled: FewAtOnce;
  private readonly buckets: ReadonlyMap<Membership, BucketRounds>;
  private readonly settledMs: number;

  constructor(options: RoundsOptions) {
    const { memberships, times, machine } = options;
    this.options = options;
    this.settledMs = settledRoundMsOf(times);
    this.unsettled = new FewAtOnce(machine);
    this.buckets = new Map(
      Array.from(memberships, (membership) => {
        const step = (): Promise<number> => {
          bucket.atMs = machine.monotonic();
          return membership.step(bucket.atMs);
        };
        const round = async () => {
          // A look at a settled bucket costs Redis little.
          if (!membership.settled.isSettled) return this.unsettled.run(step);
          const restMs = bucket.atMs + this.settledMs - machine.monotonic();
          return restMs > 0 ? restMs : step();
        };
        const bucket: BucketRounds = {
          membership,
          task: new PeriodicTask(round, machine),
          atMs: Number.NEGATIVE_INFINITY,
        };
        return [membership, bucket] as const;
      }),
    );
  }

  start(): void {
    this.options.pulse.start();
    for (const { task } of this.buckets.values()) task.start();
  }

  async stop(): Promise<void> {
    await this.options.pulse.stop();
    this.unsettled.open();
    await Promise.all(Array.from(this.buckets.values(), ({ task }) => task.stop()));
  }

  hurry(membership: Membership): void {
    const bucket = this.buckets.get(membership);
    if (bucket !== undefined) lookNow(bucket);
  }

  /**
   * Sends the heartbeats in settled buckets that are due before the next one of the process: for all of them at once, or
   * by a look at each in a cluster. They go out with the heartbeat of this turn, in one write: Redis needs more time to
   * wake up than for a look.
   */
  beatSettled(nowMs: number): void {
    const { pulse, times } = this.options;
    const olderThan = (ageMs: number) =>
      [...this.buckets.values()].filter(
        ({ membership, atMs }) => membership.settled.isSettled && nowMs - atMs >= ageMs,
      );
    const due = olderThan(this.settledMs - times.heartbeatMs);
    const { server } = pulse;
    if (server === "") for (const bucket of due) lookNow(bucket);
    // Some that are not due yet go along, so that all go together from then on.
    else if (due.length > 0) void this.beat(olderThan(this.settledMs / 2), server, nowMs);
  }

  hurryAll(): void {
    for (const bucket of this.buckets.values()) lookNow(bucket);
  }

  /** Never rejects. Without a reply, the round of each bucket looks when it is due. */
  private async beat(due: readonly BucketRounds[], server: string, nowMs: number): Promise<void> {
    const { client, prefix } = this.options;
    const keys = [
      noKey(prefix),
      ...due.map(({ membership }) => membership.bucket.epochKeys.members),
    ];
    const args = [
      server,
      ...due.flatMap(({ membership: { bucket, view } }) => [
        bucket.process,
        `${bucket.operationsSeen}`,
        `${view?.members.length ?? 0}`,
      ]),
    ];
    const reply = await client.run(settledScript, keys, args).catch(() => undefined);
    if (reply === undefined) return;
    for (const [at, state] of listOf(reply).entries()) {
      const bucket = due[at];
      if (!bucket?.membership.settled.isSettled) continue;
      if (state === 0) lookNow(bucket);
      else {
        bucket.atMs = nowMs;
        bucket.membership.beaten(state === 2);
      }
    }
  }
}

function lookNow(bucket: BucketRounds): void {
  bucket.atMs = Number.NEGATIVE_INFINITY;
  bucket.task.hurry();
}
