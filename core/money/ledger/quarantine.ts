import type { StoredEntry } from "../../contract/hold-store.ts";
import type { QuarantinedCall } from "../../contract/ledger.ts";
import type { Sql } from "../../database/client.ts";
import { isId } from "../../process/id.ts";
import { decodeEntry } from "../entry.ts";
import { callOf } from "../unreadable.ts";

const REASON_CHARACTERS_MAX = 2_000;

interface Row {
  readonly entry: string;
  readonly error: string;
  readonly at: Date;
}

/** Returns a SQL expression: the charges in quarantine, in µđ, of the wallet of `account`. */
export function quarantinedSum(account: string): string {
  return `(select coalesce(sum(charged), 0)::bigint from quarantine where quarantine.account_id = ${account}::text)`;
}

/**
 * Stores an entry that the ledger refuses or that cannot be read, with the reason. Stores none of a call that is charged
 * already: its gateway may have died after the commit, and its charge would be taken from the wallet twice.
 */
export async function quarantine(sql: Sql, entry: StoredEntry, reason: string): Promise<void> {
  const { callId, accountId, limits } = callOf(entry);
  await sql.query(
    `insert into quarantine (call_id, account_id, charged, limits, entry, error)
    select $1, $2, $3, $4::text::json, $5, $6
    where not exists (select from ledger_entries where ledger_entries.call_id = $7::text::uuid)
    on conflict (call_id) do nothing`,
    [
      ...[callId, accountId, entry.chargedMicroVnd, limits && JSON.stringify(limits)],
      ...[entry.text, reason.slice(0, REASON_CHARACTERS_MAX), isId(callId) ? callId : null],
    ],
  );
}

export async function quarantined(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ calls: number }>(
    "select count(*)::integer as calls from quarantine",
  );
  return row?.calls ?? 0;
}

/** Returns entries in quarantine, oldest first. */
export async function quarantineList(sql: Sql, limit: number): Promise<QuarantinedCall[]> {
  const rows = await sql.query<Row>(
    "select entry, error, at from quarantine order by at, call_id limit $1",
    [limit],
  );
  return rows.map(readRow);
}

export async function quarantinedCall(
  sql: Sql,
  callId: string,
): Promise<QuarantinedCall | undefined> {
  const [row] = await sql.query<Row>("select entry, error, at from quarantine where call_id = $1", [
    callId,
  ]);
  return row && readRow(row);
}

function readRow({ entry, error, at }: Row): QuarantinedCall {
  return { entry: decodeEntry("quarantine", entry), reason: error, since: at };
}
