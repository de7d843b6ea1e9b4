import { encodeEntry } from "../hot/entry.ts";
import type { OutboxEntry } from "../hot/hot.ts";
import type { Sql } from "./client.ts";

const REASON_CHARACTERS_MAX = 2_000;

/** Keeps an entry that the ledger refuses, with the reason. */
export async function quarantine(sql: Sql, entry: OutboxEntry, reason: string): Promise<void> {
  await sql.query(
    `insert into quarantine (call_id, entry, error) values ($1, $2, $3)
    on conflict (call_id) do nothing`,
    [entry.posting.callId, encodeEntry(entry), reason.slice(0, REASON_CHARACTERS_MAX)],
  );
}

export async function quarantined(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ calls: number }>(
    "select count(*)::integer as calls from quarantine",
  );
  return row?.calls ?? 0;
}
