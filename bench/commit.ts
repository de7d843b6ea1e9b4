import { randomUUID } from "node:crypto";
import { Committer } from "../core/money/committer.ts";
import { entryOf } from "../core/money/entry.ts";
import type { PostgresLedger } from "../core/money/ledger/postgres.ts";
import type { Children } from "./children.ts";
import { printTable } from "./load/table.ts";
import {
  fundAccounts,
  ledgerIn,
  openStore,
  postAll,
  postingsOf,
  quietLog,
  type Stores,
  startStores,
} from "./posted-calls.ts";
import { type Scenario, writeResults } from "./scenario.ts";

/** Set `COMMITTED=500000` for a longer run. */
const CALLS = Number(process.env["COMMITTED"] ?? 100_000);
/** The gateway's settings: see core/boot/money.ts. */
const BATCH = 1_000;
const LINGER_MS = 250;
const LOOK_MS = 10;

/** Measures the commit rate of posted calls into Postgres: the database alone, and from Redis. */
export const commit: Scenario = {
  name: "commit",
  about: `${CALLS.toLocaleString("en")} posted calls committed into Postgres, with fsync`,
  onRequest: true,
  async run(children, options) {
    const stores = await startStores(children);
    const ledger = ledgerIn(stores.sql);
    const accountIds = await fundAccounts(stores.sql, 2 * CALLS);
    const rows = [
      { way: "Postgres by itself", ...(await ledgerOnly(ledger, accountIds)) },
      { way: "Redis to Postgres", ...(await redisToLedger(ledger, stores, children, accountIds)) },
    ];
    await stores.end();
    printTable(
      `commit: ${this.about}`,
      rows.map(({ way, seconds, callsPerSecond }) => ({
        "": way,
        calls: String(CALLS),
        seconds: seconds.toFixed(1),
        "calls/s": callsPerSecond.toFixed(0),
      })),
    );
    writeResults("commit", children, options, rows);
  },
};

async function ledgerOnly(ledger: PostgresLedger, accountIds: readonly string[]) {
  const keyId = randomUUID();
  let seconds = 0;
  for (let committed = 0; committed < CALLS; committed += BATCH) {
    const entries = postingsOf(accountIds, keyId, BATCH).map((posting, n) =>
      entryOf(String(n), posting, posting.costMicroVnd, 0),
    );
    const startedMs = performance.now();
    await ledger.commit(entries);
    seconds += (performance.now() - startedMs) / 1_000;
  }
  return { seconds, callsPerSecond: CALLS / seconds };
}

/** Measures from posted calls in memory until they are committed and acknowledged in Redis. */
async function redisToLedger(
  ledger: PostgresLedger,
  stores: Stores,
  children: Children,
  accountIds: readonly string[],
) {
  const { store } = await openStore(stores, children, accountIds, 2 * CALLS);
  await postAll(store, accountIds, CALLS);
  const settings = { batchEntries: BATCH, lingerMs: LINGER_MS };
  const committer = new Committer({ holdStore: store, ledger, log: quietLog, ...settings });
  const startedMs = performance.now();
  committer.start();
  while (store.uncommittedCalls() > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  const seconds = (performance.now() - startedMs) / 1_000;
  await committer.stop(1_000);
  await store.stop();
  return { seconds, callsPerSecond: CALLS / seconds };
}
