import { encodeEntry } from "../hot/entry.ts";
import type { OutboxEntry } from "../hot/hot.ts";
import type { Sql } from "./client.ts";

/** Keeps an entry that the ledger refuses, with the reason. */
export async function quarantine(sql: Sql, entry: OutboxEntry, reason: string): Promise<void> {
  await sql`
    insert into quarantine (call_id, entry, error)
    values (${entry.posting.callId}, ${encodeEntry(entry)}, ${reason.slice(0, 2_000)})
    on conflict (call_id) do nothing`;
}

export async function quarantined(sql: Sql): Promise<number> {
  const [row] = await sql<{ calls: number }[]>`select count(*)::integer as calls from quarantine`;
  return row?.calls ?? 0;
}
