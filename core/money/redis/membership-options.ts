import type { Machine } from "../../process/machine.ts";
import type { RedisCommands } from "../../redis/client.ts";
import type { Lifetimes } from "../lifetimes.ts";
import type { Bucket } from "./bucket.ts";
import type { RedisKeptProgress } from "./kept-progress.ts";

/** The lifetimes that tests shorten. */
export type MembershipTimes = Pick<
  Lifetimes,
  | "heartbeatMs"
  | "leaseMs"
  | "graceMs"
  | "joiningRoundMs"
  | "startTimeoutMs"
  | "unownedMovementMs"
  | "walletIdleMs"
  | "idleLookMs"
  | "closePauseMs"
>;

export interface MembershipEvents {
  /** An operation failed: Redis did not reply, or this process must join first. `wasReady`: the first such failure. */
  failed(bucket: Bucket, error: unknown, wasReady: boolean): void;
  /** The bucket has a new epoch, because Redis lost data. */
  moved(bucket: Bucket): void;
  /** Wallets of the new epoch were loaded without the uncommitted posts of this process. They must be sent again. */
  mustResend(bucket: Bucket): void;
  /** The leases of this process ended while it was suspended: its holds are gone. */
  expelled(bucket: Bucket): void;
  /** Called before each new epoch of the bucket. None begins if this rejects. */
  beginning(bucket: Bucket): Promise<void>;
  /** This process has joined a new epoch. Its operations pass once the bucket is ready. */
  joined(bucket: Bucket): Promise<void>;
  /** The leases of a silent process were ended, and its holds voided. */
  reaped(bucket: Bucket, process: string, voidedHolds: number): void;
  /** A round found the bucket ready: work that an outage delayed can go on. */
  maintained(bucket: Bucket): void;
  /** Returns true if this process has posts that it does not know to be in the ledger. */
  hasUncommitted(bucket: Bucket): boolean;
  /** Returns true while the committer has entries of this bucket in hand. */
  isCommitting(bucket: Bucket): boolean;
}

/** The other processes, as the heartbeat of this process shows them. */
export interface Pulse {
  /** True while every process that this one watches beats, which shows that it is fresh in all its buckets. */
  readonly isQuiet: boolean;
  /** The server that the last heartbeats found; "" if they were not quiet, and in a cluster, which has many. */
  readonly server: string;
  /** Returns when a member last beat, as far as it was watched. */
  beatAtMs(member: string): number | undefined;
  /** The members of a bucket were listed. */
  listed(): void;
}

export interface MembershipOptions {
  readonly client: RedisCommands;
  /** Id of this process in Redis, a UUID. */
  readonly process: string;
  readonly times: MembershipTimes;
  readonly machine: Machine;
  readonly events: MembershipEvents;
  readonly pulse: Pulse;
  readonly counts: Pick<RedisKeptProgress, "edition" | "firstEdition" | "covers">;
}
