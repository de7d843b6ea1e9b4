import type { Services } from "../../core/plugin/index.ts";

type Database = Services["database"];

export const TRANSFER_STATES = ["matched", "credited", "unmatched", "ignored", "returned"] as const;
type TransferState = (typeof TRANSFER_STATES)[number];

/** The reason why a transfer cannot be matched to an order, even if its text has a code. */
export type Hindrance =
  | "outgoing"
  | "unknown_direction"
  | "unreadable"
  | "bad_amount"
  | "wrong_account"
  /** Its id was that of another transfer. */
  | "known_id"
  /** It may be one that another source reported, or its statement has it twice. */
  | "alike";

/** SePay's notification, SePay's list, or a statement that an operator imported. */
export type Source = "webhook" | "poll" | "import";

/** A bank transfer. Amounts are in µđ. */
export interface Transfer {
  readonly id: string;
  /** Increases with each recorded transfer. */
  readonly sequence: bigint;
  /** Of its credit in the ledger. */
  readonly reference: string;
  readonly state: TransferState;
  readonly cause: string;
  readonly accountId: string | null;
  readonly orderId: string | null;
  readonly orderCode: string | null;
  readonly incoming: boolean;
  readonly amountMicroVnd: bigint | null;
  readonly bank: string | null;
  readonly accountNumber: string | null;
  readonly content: string | null;
  readonly bankReference: string | null;
  readonly bankTime: string | null;
  /** The day in Vietnam of `bankTime`: `2026-11-21`. */
  readonly bankDay: string | null;
  readonly source: Source;
  /** SePay's id; null if only a statement has reported it. */
  readonly sepayId: string | null;
  /** The id of the transfer that this one may be. */
  readonly alike: string | null;
  readonly receivedAt: Date;
  readonly creditedAt: Date | null;
  readonly decidedAt: Date | null;
  readonly decision: string | null;
}

export interface NewTransfer
  extends Pick<
    Transfer,
    | "id"
    | "incoming"
    | "amountMicroVnd"
    | "bank"
    | "accountNumber"
    | "content"
    | "bankReference"
    | "bankTime"
    | "bankDay"
    | "source"
  > {
  /** When the bank booked it; undefined if the source has only a day. */
  readonly at: Date | undefined;
  readonly payload: Buffer;
  readonly hindrance: Hindrance | undefined;
  /** Possible order codes in its text. */
  readonly codes: readonly string[];
}

const COLUMNS = `t.id, t.sequence, t.reference, t.state, t.cause, t.account_id as "accountId", t.order_id as "orderId",
  (select o.code from topup_orders o where o.id = t.order_id) as "orderCode", t.incoming,
  t.amount as "amountMicroVnd", t.bank, t.account_number as "accountNumber", t.content,
  t.bank_reference as "bankReference", t.bank_time as "bankTime", t.bank_day::text as "bankDay", t.source,
  coalesce(
    (select n.id from bank_transfer_ids n where n.transfer = t.id), case when t.source <> 'import' then t.id end
  ) as "sepayId", t.alike, t.received_at as "receivedAt",
  t.credited_at as "creditedAt", t.decided_at as "decidedAt", t.decision`;
const SELECT = `select ${COLUMNS} from bank_transfers t`;

/**
 * Records a transfer, with its account if a code matches. Returns undefined if its id is known, or if a transfer of its
 * amount was recorded after the sequence `seen`. One statement, so that a crash cannot leave a transfer without its account.
 */
export async function recordTransfer(
  database: Database,
  transfer: NewTransfer & { readonly alike: string | null },
  seen: bigint,
): Promise<Transfer | undefined> {
  const [row] = await database.query<{ recorded: boolean }>(
    `select record_bank_transfer(
      $1, $2, $3, $4::text::text[], $5, $6, $7, $8, $9, $10, $11, $12, $13::text::date, $14, $15
    ) as recorded`,
    [
      seen,
      transfer.id,
      transfer.hindrance ?? null,
      listOf(transfer.codes),
      transfer.alike,
      transfer.incoming,
      transfer.amountMicroVnd,
      transfer.bank,
      transfer.accountNumber,
      transfer.content,
      transfer.bankReference,
      transfer.bankTime,
      transfer.bankDay,
      transfer.payload,
      transfer.source,
    ],
  );
  return row?.recorded === true ? transferOf(database, transfer.id) : undefined;
}

/** Records SePay's id of a transfer that a statement reported first. Returns false if that has one, or another has this. */
export async function nameTransfer(
  database: Database,
  id: string,
  sepayId: string,
): Promise<boolean> {
  const named = await database.query(
    `insert into bank_transfer_ids (id, transfer) values ($1, $2) on conflict do nothing returning id`,
    [sepayId, id],
  );
  return named.length > 0;
}

/** Returns the sequence of the newest transfer of each of these amounts, in µđ. */
export async function newestOf(
  database: Database,
  amounts: readonly bigint[],
): Promise<Map<bigint, bigint>> {
  const rows = await database.query<{ amount: bigint; sequence: bigint }>(
    `select a.amount, (
      select max(t.sequence) from bank_transfers t where t.amount = a.amount
    ) as sequence
    from unnest($1::text::bigint[]) a (amount)`,
    [listOf(amounts)],
  );
  return new Map(rows.map(({ amount, sequence }) => [amount, sequence ?? 0n]));
}

/**
 * Returns the transfers that have one of the ids, and the incoming ones that have one of the amounts and a day in the
 * period, or no day: at most `limit`, newest first. What SePay reports is one of its own by its id alone: then these are
 * only those that a statement reported.
 */
export function alikeTransfers(
  database: Database,
  ids: readonly string[],
  amounts: readonly bigint[],
  days: { readonly first: string; readonly last: string },
  hasSePays: boolean,
  limit: number,
): Promise<Transfer[]> {
  return database.query<Transfer>(
    `${SELECT} where t.id in (
      select unnest($1::text::text[])
      union select n.transfer from bank_transfer_ids n where n.id = any ($1::text::text[])
      union select i.id from bank_transfers i
        where i.incoming and i.amount = any ($2::text::bigint[]) and i.bank_day between $3::text::date and $4::text::date
          and ($5 or i.source = 'import')
      union select i.id from bank_transfers i
        where i.incoming and i.amount = any ($2::text::bigint[]) and i.bank_day is null and ($5 or i.source = 'import')
    ) order by t.sequence desc limit $6`,
    [listOf(ids), listOf(amounts), days.first, days.last, hasSePays, limit],
  );
}

/** Returns a list as Postgres writes it. The texts have letters, digits, and `.:_-` alone. */
function listOf(items: readonly (string | bigint)[]): string {
  return `{${items.join(",")}}`;
}

/** Returns what was credited for an order, oldest first: at most 100 transfers. */
export function paymentsOf(
  database: Database,
  orderId: string,
): Promise<
  { readonly amountMicroVnd: bigint; readonly bonusMicroVnd: bigint; readonly creditedAt: Date }[]
> {
  return database.query(
    `select amount as "amountMicroVnd", credited_at as "creditedAt", coalesce(
        (select sum(b.amount) from topup_bonuses b where b.top_up = t.reference), 0
      )::bigint as "bonusMicroVnd"
    from bank_transfers t where order_id = $1 and state = 'credited' order by sequence limit 100`,
    [orderId],
  );
}

export async function transferOf(database: Database, id: string): Promise<Transfer | undefined> {
  const [transfer] = await database.query<Transfer>(`${SELECT} where t.id = $1`, [id]);
  return transfer;
}

/** Returns the original body of the notification. */
export async function payloadOf(database: Database, id: string): Promise<Buffer | undefined> {
  const [row] = await database.query<{ payload: Buffer }>(
    "select payload from bank_transfers where id = $1",
    [id],
  );
  return row?.payload;
}

interface TransferFilter {
  readonly state?: TransferState | undefined;
  readonly account?: string | undefined;
  /** The id of a transfer, the code of its order, or the bank's reference. */
  readonly query?: string | undefined;
}

/** Returns transfers that pass the filter, newest first; `before` is the last sequence of the previous page. */
export function transfersIn(
  database: Database,
  { state, account, query }: TransferFilter,
  limit: number,
  before: bigint | undefined,
): Promise<Transfer[]> {
  const parameters: (string | number | bigint)[] = [limit];
  const given = (value: string | bigint) => `$${parameters.push(value)}`;
  const conditions: string[] = [];
  if (state !== undefined) conditions.push(`t.state = ${given(state)}`);
  if (account !== undefined) conditions.push(`t.account_id = ${given(account)}`);
  if (before !== undefined) conditions.push(`t.sequence < ${given(before)}`);
  if (query !== undefined) {
    const [text, code] = [given(query), given(query.toUpperCase())];
    // Each is one step in an index of its own.
    conditions.push(`t.id in (
      select ${text}
      union select n.transfer from bank_transfer_ids n where n.id = ${text}
      union select b.id from bank_transfers b where b.bank_reference = ${text}
      union select p.id from bank_transfers p join topup_orders o on p.order_id = o.id where o.code = ${code}
    )`);
  }
  const where = conditions.length > 0 ? `where ${conditions.join(" and ")}` : "";
  return database.query<Transfer>(
    `${SELECT} ${where} order by t.sequence desc limit $1`,
    parameters,
  );
}

/** Returns transfers that are matched and still to be credited, oldest first. */
export function matchedTransfers(
  database: Database,
  limit: number,
  after: bigint,
): Promise<Transfer[]> {
  return database.query<Transfer>(
    `${SELECT} where t.state = 'matched' and t.sequence > $1 order by t.sequence limit $2`,
    [after, limit],
  );
}

/** Returns the texts of the newest credited transfers since a time, with their accounts and codes: at most 5,000. */
export function creditedTexts(
  database: Database,
  since: Date,
): Promise<
  { readonly accountId: string; readonly content: string; readonly code: string | null }[]
> {
  return database.query(
    `select t.account_id as "accountId", t.content, o.code from bank_transfers t
    left join topup_orders o on o.id = t.order_id
    where t.state = 'credited' and t.content is not null and t.received_at > $1
    order by t.sequence desc limit 5000`,
    [since],
  );
}

/** Returns the incoming transfers that the bank booked in a period of days, oldest first: at most `limit`. */
export function transfersOfDays(
  database: Database,
  first: string,
  last: string,
  limit: number,
): Promise<Transfer[]> {
  return database.query<Transfer>(
    `${SELECT} where t.incoming and t.amount is not null and t.bank_day between $1::text::date and $2::text::date
    order by t.sequence limit $3`,
    [first, last, limit],
  );
}

/** Counts the transfers that an operator has to assign or ignore, and says when the newest came. */
export async function unmatchedTransfers(database: Database) {
  const [row] = await database.query<{ count: number; newest: Date | null }>(
    "select count(*)::integer as count, max(received_at) as newest from bank_transfers where state = 'unmatched'",
  );
  return { count: row?.count ?? 0, newest: row?.newest ?? undefined };
}

/** Returns the time of SePay's last notification. Other sources find what SePay does not notify: they do not count. */
export async function lastReceived(database: Database): Promise<Date | undefined> {
  const [row] = await database.query<{ at: Date }>(
    "select received_at as at from bank_transfers where source = 'webhook' order by sequence desc limit 1",
  );
  return row?.at;
}

/** The states in which an operator may assign a transfer. */
const ASSIGNABLE: readonly string[] = ["unmatched", "ignored"];

/** Returns true if `assignTransfer` would move money. */
export function isAssignable({ state, incoming, amountMicroVnd }: Transfer): boolean {
  return ASSIGNABLE.includes(state) && incoming && amountMicroVnd !== null;
}

/** Assigns a transfer to an account. Returns undefined unless it `isAssignable`. */
export async function assignTransfer(
  database: Database,
  id: string,
  owner: { readonly accountId: string; readonly orderId: string | null },
  reason: string,
): Promise<Transfer | undefined> {
  const [assigned] = await database.query<Transfer>(
    `update bank_transfers t
    set state = 'matched', account_id = $2, order_id = $3, decided_at = now(), decision = $4
    where t.id = $1 and t.state in (${ASSIGNABLE.map((state) => `'${state}'`).join(", ")}) and t.incoming and t.amount is not null
    returning ${COLUMNS}`,
    [id, owner.accountId, owner.orderId, reason],
  );
  return assigned;
}

/** The transfers that an operator may decide on, by the state that they get. */
const DECIDED_FROM = {
  ignored: "state = 'unmatched'",
  // Sent back to its payer, for good: not if someone has its money.
  returned: "state in ('unmatched', 'ignored') and incoming",
} as const;

/** Marks a transfer as ignored, or as sent back to its payer. Does nothing if its state does not allow that. */
export async function decideTransfer(
  database: Database,
  id: string,
  state: keyof typeof DECIDED_FROM,
  reason: string,
) {
  await database.query(
    `update bank_transfers set state = $2, decided_at = now(), decision = $3
    where id = $1 and ${DECIDED_FROM[state]}`,
    [id, state, reason],
  );
}

/** Gives a transfer that was taken back from a wrong account to an operator, to assign it again. Does nothing if it was not. */
export async function releaseTransfer(
  database: Database,
  { id, reference }: Transfer,
  reason: string,
): Promise<void> {
  await database.query(
    `update bank_transfers set state = 'unmatched', cause = 'taken_back', round = round + 1, account_id = null,
      order_id = null, credited_at = null, decided_at = now(), decision = $3
    where id = $1 and reference = $2 and state = 'credited' and was_taken_back(reference)`,
    [id, reference, reason],
  );
}

/** Marks a transfer as credited. Idempotent. A trigger rejects it if the ledger does not have the credit. */
export async function markCredited(database: Database, id: string): Promise<void> {
  await database.query(
    `update bank_transfers set state = 'credited', credited_at = now()
    where id = $1 and state <> 'credited'`,
    [id],
  );
}

/** Marks a transfer as unmatched, for an operator. Returns false if it is no longer matched, or the ledger has its credit. */
export async function setAside(database: Database, id: string, cause: string): Promise<boolean> {
  const found = await database.query(
    `update bank_transfers set state = 'unmatched', cause = $2
    where id = $1 and state = 'matched' and not has_movement(reference, account_id, amount) returning id`,
    [id, cause],
  );
  return found.length > 0;
}

/** Returns true if a transfer is matched, and the ledger has its credit. */
export async function isInLedger(database: Database, id: string): Promise<boolean> {
  const found = await database.query(
    `select from bank_transfers
    where id = $1 and state = 'matched' and has_movement(reference, account_id, amount)`,
    [id],
  );
  return found.length > 0;
}
