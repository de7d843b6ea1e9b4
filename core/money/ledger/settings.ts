import type { Database } from "../../database/database.ts";
import type { StoreFault } from "../../process/store-fault.ts";

/**
 * The settings that make a commit durable, and what they do when they are `off`. Other values of `synchronous_commit`
 * also wait for the disk.
 */
const DURABLE: readonly Pick<StoreFault, "setting" | "breaks" | "advice">[] = [
  {
    setting: "fsync",
    breaks: true,
    advice:
      "stores.ledger: a crash of its machine can destroy the ledger (fsync off): set fsync = on, and reload Postgres",
  },
  {
    setting: "synchronous_commit",
    breaks: true,
    advice:
      "stores.ledger: a crash of Postgres loses top-ups and charges that it had confirmed (synchronous_commit off): set it " +
      "to on, and look at `alter database` and `alter role` too",
  },
  {
    setting: "full_page_writes",
    breaks: false,
    advice:
      "stores.ledger: a crash of its machine can tear pages of the ledger (full_page_writes off): set it to on, unless the " +
      "file system writes whole pages",
  },
];

/** Returns the faults of Postgres, as the sessions of the gateway have its settings. */
export async function faultsOfPostgres(database: Database): Promise<readonly StoreFault[]> {
  const names = DURABLE.map(({ setting }) => `'${setting}'`).join(", ");
  const off = await database.query<{ name: string }>(
    `select name from pg_settings where setting = 'off' and name in (${names})`,
  );
  const isOff = new Set(off.map(({ name }) => name));
  return DURABLE.filter(({ setting }) => isOff.has(setting)).map((fault) => ({
    store: "postgres",
    ...fault,
  }));
}
