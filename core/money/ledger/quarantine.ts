import type { Sql } from "../../database/client.ts";
import { isId } from "../../process/id.ts";
import { decodeEntry, entryOf } from "../entry.ts";
import type { QuarantinedCall } from "../ledger.ts";
import type { StoredEntry } from "../outbox-entry.ts";
import { callOf, nameOf } from "../unreadable.ts";
import { fenced, membershipsOf } from "./epochs.ts";
import type { PostgresHistory } from "./history.ts";

const REASON_CHARACTERS_MAX = 2_000;

const COLUMNS = "call_id, entry, error, at, charged";

interface Row {
  readonly call_id: string;
  readonly entry: string;
  readonly error: string;
  readonly at: Date;
  readonly charged: bigint;
}

/** Returns a SQL expression: the charges in quarantine, in µđ, of the wallet of `account`. */
export function quarantinedSum(account: string): string {
  return `(select coalesce(sum(charged), 0)::bigint from quarantine where quarantine.account_id = ${account}::text)`;
}

/**
 * Stores an entry that the ledger refuses or that cannot be read, with the reason. Does not store a call that is
 * charged already: its gateway may have died after the commit, and its charge would be taken from the wallet twice.
 */
export async function quarantine(
  history: PostgresHistory,
  entry: StoredEntry,
  reason: string,
): Promise<void> {
  const { callId, accountId, purses } = callOf(entry);
  const stored = history.commit(
    `select true as stored where quarantine_call(
      $1::text::uuid, $2::text::uuid, $3, $4, $5, $6::text::json, $7, $8, $9
    )`,
    [
      ...[isId(accountId) ? accountId : null, isId(callId) ? callId : null],
      ...[callId, accountId, entry.chargedMicroVnd, purses && JSON.stringify(purses)],
      ...[entry.text, reason.slice(0, REASON_CHARACTERS_MAX)],
      entry.posting ? null : nameOf(entry),
      membershipsOf([entry]),
    ],
    "require_members($10::text::text[])",
  );
  await stored.catch((error: unknown) => {
    throw fenced(error);
  });
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
    `select ${COLUMNS} from quarantine order by at, call_id limit $1`,
    [limit],
  );
  return rows.map(readRow);
}

export async function quarantinedCall(
  sql: Sql,
  callId: string,
): Promise<QuarantinedCall | undefined> {
  const [row] = await sql.query<Row>(`select ${COLUMNS} from quarantine where call_id = $1`, [
    callId,
  ]);
  return row && readRow(row);
}

/**
 * The charge is that of the row: in Redis it is beside the text of an entry, and this gateway could not put it in if it
 * could not read the text.
 */
function readRow({ call_id, entry: text, error, at, charged }: Row): QuarantinedCall {
  const read = decodeEntry(`quarantine|${call_id}`, text);
  const chargedMicroVnd = Number(charged);
  if (read.chargedMicroVnd === chargedMicroVnd) return { entry: read, reason: error, since: at };
  if (read.posting === undefined) {
    return { entry: { ...read, chargedMicroVnd }, reason: error, since: at };
  }
  const { posting, entryId } = read;
  const writtenOff = posting.costMicroVnd - chargedMicroVnd;
  const entry = entryOf(entryId, posting, chargedMicroVnd, writtenOff, read.text);
  return { entry, reason: error, since: at };
}
