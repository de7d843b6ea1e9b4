import type { Services } from "../../core/plugin/index.ts";

const SHOWN_MAX = 200;
const KEPT = "interval '400 days'";

interface Backup {
  readonly at: Date;
  readonly bytes: number;
}

/** Returns the recorded backups of the ledger, newest first. Each was read to its end after it was written. */
export function readBackups(database: Services["database"], limit = SHOWN_MAX): Promise<Backup[]> {
  return database.query<Backup>(
    "select at, bytes::float8 as bytes from backups order by at desc limit $1",
    [limit],
  );
}

/**
 * Returns when the ledger was last backed up. If no backup was ever recorded, returns when the ledger was made, so that an alert
 * fires; undefined if the ledger is embedded, for which the handbook's script makes none.
 */
export async function lastBackup(
  database: Services["database"],
  isEmbedded: boolean,
): Promise<Date | undefined> {
  const [newest] = await readBackups(database, 1);
  if (newest || isEmbedded) return newest?.at;
  const [made] = await database.query<{ at: Date }>("select min(applied_at) as at from migrations");
  return made?.at;
}

/** Forgets backups whose files are gone long since. */
export async function forgetBackups(database: Services["database"]): Promise<void> {
  await database.query(`delete from backups where at < now() - ${KEPT}`);
}
