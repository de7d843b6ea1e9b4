import type { Log } from "../../process/log.ts";
import type { Machine } from "../../process/machine.ts";
import type { RedisCommands } from "../../redis/client.ts";
import type { Ledger } from "../ledger.ts";
import type { Lifetimes } from "../lifetimes.ts";
import type { SpoolOptions } from "./spool.ts";

/** The part of the ledger that the Redis store needs. */
export type LedgerLookup = Pick<Ledger, "wallet" | "purse" | "hasCall" | "history" | "epochs">;

/** The lifetimes that tests shorten. */
export type StoreTimes = Pick<
  Lifetimes,
  | "heartbeatMs"
  | "leaseMs"
  | "joiningRoundMs"
  | "startTimeoutMs"
  | "walletIdleMs"
  | "idleLookMs"
  | "closePauseMs"
>;

export interface RedisHoldStoreOptions {
  /** Connected and disconnected by the store. */
  readonly client: RedisCommands;
  /** Prefix of all keys. */
  readonly prefix: string;
  /** The number of buckets: always `bucketsOf(client)`, except in tests. */
  readonly buckets?: number;
  readonly times?: Partial<StoreTimes>;
  readonly spool: SpoolOptions;
  /** Holds are refused while this process has at least this many uncommitted calls. */
  readonly outboxEntriesMax: number;
  readonly ledger: LedgerLookup;
  readonly machine?: Machine;
  readonly log: Log;
}
