import type { PluginDatabase } from "../../database/plugin-database.ts";

/** Months without one of the indexes of migration 0003, the newest first: they are asked for most. */
const MISSING = `
  select part.oid::regclass::text as name
  from pg_inherits join pg_class part on part.oid = inhrelid
  where inhparent = 'usage_records'::regclass and 2 > (
    select count(*) from pg_index child join pg_inherits link on link.inhrelid = child.indexrelid
    where child.indrelid = part.oid and link.inhparent in (
      'usage_records_key_model'::regclass, 'usage_records_failed_of_key_model'::regclass
    )
  )
  order by name desc`;

/**
 * Makes the indexes that large months lack since an upgrade, a month at a time. Until it is made, calls of that
 * month are not committed but wait in the outbox: some seconds for each million of them. Does nothing for months that have them.
 */
export async function indexMonths(database: PluginDatabase): Promise<void> {
  for (const { name } of await database.query<{ name: string }>(MISSING)) {
    await database.longQuery(`select make_key_model_indexes('${name}')`);
  }
}
