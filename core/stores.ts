import { join } from "node:path";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { EmbeddedHotStore } from "./hot/embedded.ts";
import { EmbeddedRateLimiter } from "./hot/embedded-rate-limiter.ts";
import type { HotStore } from "./hot/hot.ts";
import type { RateLimiter } from "./hot/rate-limiter.ts";
import { connect } from "./ledger/client.ts";
import { EmbeddedLedger } from "./ledger/embedded.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { PostgresLedger } from "./ledger/postgres.ts";
import type { Log } from "./log.ts";

/** Posted calls that may wait for the ledger: at some 600 bytes each, about 120 MB. */
const OUTBOX_ENTRIES_MAX = 200_000;
const JOURNAL_BYTES_MAX = 1024 * 1024 * 1024;

export interface Stores {
  readonly hot: HotStore;
  readonly rateLimiter: RateLimiter;
  readonly ledger: Ledger;
}

/** The stores that a config names, not started yet. */
export function createStores(config: Config, clock: Clock, log: Log): Stores {
  const { data, hot, ledger } = config.stores;
  if (hot !== "embedded") {
    throw new Error(
      "stores.hot: this version keeps hot balances in its own process only: embedded",
    );
  }
  return {
    hot: new EmbeddedHotStore({
      journal: { folder: join(data, "journal"), bytesMax: JOURNAL_BYTES_MAX, sync: false, log },
      outboxEntriesMax: OUTBOX_ENTRIES_MAX,
    }),
    rateLimiter: new EmbeddedRateLimiter(clock),
    ledger:
      ledger === "embedded"
        ? new EmbeddedLedger({ folder: join(data, "ledger"), clock, log })
        : new PostgresLedger({
            sql: connect({
              server: { url: ledger },
              connectionsMax: 10,
              statementTimeoutMs: 30_000,
              log,
            }),
            clock,
            log,
          }),
  };
}
