import type { Log } from "../../process/log.ts";
import type { Machine } from "../../process/machine.ts";
import type { RedisCommands } from "../../redis/client.ts";
import type { LedgerLookup } from "./ledger-lookup.ts";
import type { MembershipTimes } from "./membership-options.ts";
import type { SpoolOptions } from "./spool.ts";

export interface RedisHoldStoreOptions {
  /** Connected and disconnected by the store. */
  readonly client: RedisCommands;
  /** Prefix of all keys. */
  readonly prefix: string;
  /** The number of buckets: always `BUCKETS`, except in tests. Any other would look for accounts in other buckets. */
  readonly buckets?: number;
  readonly times?: Partial<MembershipTimes>;
  readonly spool: SpoolOptions;
  /** Holds are refused while this process has at least this many uncommitted calls. */
  readonly outboxEntriesMax: number;
  readonly ledger: LedgerLookup;
  readonly machine?: Machine;
  readonly log: Log;
}
