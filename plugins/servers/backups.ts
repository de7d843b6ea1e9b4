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

/** Forgets backups whose files are gone long since. */
export async function forgetBackups(database: Services["database"]): Promise<void> {
  await database.query(`delete from backups where at < now() - ${KEPT}`);
}
