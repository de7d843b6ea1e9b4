import { hash } from "node:crypto";
import type { Services } from "../../core/plugin/index.ts";

type Database = Services["database"];

export const TRANSFER_STATES = ["matched", "credited", "unmatched", "ignored"] as const;
type TransferState = (typeof TRANSFER_STATES)[number];

/** The reason why a transfer cannot be matched to an order, even if its text has a code. */
export type Hindrance =
  | "outgoing"
  | "unknown_direction"
  | "unreadable"
  | "bad_amount"
  | "wrong_account"
  /** Its id was that of another transfer. */
  | "known_id";

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
  readonly receivedAt: Date;
  readonly creditedAt: Date | null;
  readonly decidedAt: Date | null;
  readonly decision: string | null;
}

interface NewTransfer
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
  > {
  readonly payload: Buffer;
  readonly hindrance: Hindrance | undefined;
  /** Possible order codes in its text. */
  readonly codes: readonly string[];
}

interface Recorded {
  readonly transfer: Transfer;
  /** False if this transfer was recorded before: only the first notification counts. */
  readonly isNew: boolean;
}

const COLUMNS = `t.id, t.sequence, t.reference, t.state, t.cause, t.account_id as "accountId", t.order_id as "orderId",
  (select o.code from topup_orders o where o.id = t.order_id) as "orderCode", t.incoming,
  t.amount as "amountMicroVnd", t.bank, t.account_number as "accountNumber", t.content,
  t.bank_reference as "bankReference", t.bank_time as "bankTime", t.received_at as "receivedAt",
  t.credited_at as "creditedAt", t.decided_at as "decidedAt", t.decision`;
const SELECT = `select ${COLUMNS} from bank_transfers t`;

/**
 * Records a transfer once per id, with its account if a code matches. A notification that is sent again has the amount,
 * account and direction of the first. With others it reports another transfer, which gets an id of its own and waits for
 * an operator: money has arrived, and the operator has to find out which of the two is right.
 */
export async function recordTransfer(database: Database, transfer: NewTransfer): Promise<Recorded> {
  const recorded = await recordOnce(database, transfer);
  const { transfer: known, isNew } = recorded;
  const facts = ({ incoming, amountMicroVnd, accountNumber }: Transfer | NewTransfer) =>
    `${incoming} ${amountMicroVnd} ${accountNumber}`;
  if (isNew || facts(known) === facts(transfer)) return recorded;
  const id = `${transfer.id}.${hash("sha256", facts(transfer), "hex").slice(0, 12)}`;
  return recordOnce(database, { ...transfer, id, hindrance: transfer.hindrance ?? "known_id" });
}

/** One statement, so that a crash cannot leave a transfer without its account. */
async function recordOnce(database: Database, transfer: NewTransfer): Promise<Recorded> {
  const [recorded] = await database.query<Transfer>(
    `with found as (
      select count(*) as orders, (array_agg(id))[1] as id, (array_agg(account_id))[1] as account_id
      from topup_orders where code = any ($3::text::text[]) and $2::text is null
    )
    insert into bank_transfers as t (
      id, state, cause, account_id, order_id, incoming, amount, bank, account_number, content,
      bank_reference, bank_time, payload
    )
    select $1,
      case when $2 = 'outgoing' then 'ignored' when orders = 1 then 'matched' else 'unmatched' end,
      case
        when $2 is not null then $2
        when orders = 1 then 'code'
        when orders > 1 then 'several_orders'
        when $3 = '{}' then 'no_code'
        else 'unknown_code'
      end,
      case when orders = 1 then account_id end, case when orders = 1 then id end,
      $4, $5::bigint, $6::text, $7::text, $8::text, $9::text, $10::text, $11::bytea
    from found
    on conflict (id) do nothing
    returning ${COLUMNS}`,
    [
      transfer.id,
      transfer.hindrance ?? null,
      `{${transfer.codes.join(",")}}`,
      transfer.incoming,
      transfer.amountMicroVnd,
      transfer.bank,
      transfer.accountNumber,
      transfer.content,
      transfer.bankReference,
      transfer.bankTime,
      transfer.payload,
    ],
  );
  if (recorded) return { transfer: recorded, isNew: true };
  const known = await transferOf(database, transfer.id);
  if (!known) throw new Error(`transfer ${transfer.id} is neither new nor known`);
  return { transfer: known, isNew: false };
}

/** Returns what was credited for an order, oldest first: at most 100 transfers. */
export function paymentsOf(
  database: Database,
  orderId: string,
): Promise<{ readonly amountMicroVnd: bigint; readonly creditedAt: Date }[]> {
  return database.query(
    `select amount as "amountMicroVnd", credited_at as "creditedAt" from bank_transfers
    where order_id = $1 and state = 'credited' order by sequence limit 100`,
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

/** Returns transfers, newest first; `before` is the last sequence of the previous page. */
export function transfersIn(
  database: Database,
  state: TransferState | undefined,
  limit: number,
  before: bigint | undefined,
): Promise<Transfer[]> {
  return database.query<Transfer>(
    `${SELECT} where ($1::text is null or t.state = $1) and ($2::bigint is null or t.sequence < $2)
    order by t.sequence desc limit $3`,
    [state ?? null, before ?? null, limit],
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

/** Counts the transfers that an operator has to assign or ignore. */
export async function unmatchedTransfers(database: Database): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    "select count(*)::integer as count from bank_transfers where state = 'unmatched'",
  );
  return row?.count ?? 0;
}

/** Returns the time at which the bank reported its last transfer. */
export async function lastReceived(database: Database): Promise<Date | undefined> {
  const [row] = await database.query<{ at: Date }>(
    "select received_at as at from bank_transfers order by sequence desc limit 1",
  );
  return row?.at;
}

/**
 * Assigns a transfer to an account. Returns undefined unless it is unmatched or ignored, and has an incoming amount.
 */
export async function assignTransfer(
  database: Database,
  id: string,
  owner: { readonly accountId: string; readonly orderId: string | null },
  reason: string,
): Promise<Transfer | undefined> {
  const [assigned] = await database.query<Transfer>(
    `update bank_transfers t
    set state = 'matched', account_id = $2, order_id = $3, decided_at = now(), decision = $4
    where t.id = $1 and t.state in ('unmatched', 'ignored') and t.incoming and t.amount is not null
    returning ${COLUMNS}`,
    [id, owner.accountId, owner.orderId, reason],
  );
  return assigned;
}

/** Marks a transfer as ignored. Returns undefined unless it is unmatched. */
export async function ignoreTransfer(
  database: Database,
  id: string,
  reason: string,
): Promise<Transfer | undefined> {
  const [ignored] = await database.query<Transfer>(
    `update bank_transfers t set state = 'ignored', decided_at = now(), decision = $2
    where t.id = $1 and t.state = 'unmatched' returning ${COLUMNS}`,
    [id, reason],
  );
  return ignored;
}

/** Gives a transfer that was taken back from a wrong account to an operator, to assign it again. */
export async function releaseTransfer(
  database: Database,
  { id, reference }: Transfer,
  reason: string,
): Promise<void> {
  await database.query(
    `update bank_transfers set state = 'unmatched', cause = 'taken_back', round = round + 1, account_id = null,
      order_id = null, credited_at = null, decided_at = now(), decision = $3
    where id = $1 and reference = $2 and state = 'credited'`,
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

/** Marks a transfer as unmatched, for an operator: the wallet refused the credit for good. */
export async function setAside(database: Database, id: string, cause: string): Promise<void> {
  await database.query(
    `update bank_transfers set state = 'unmatched', cause = $2 where id = $1 and state = 'matched'`,
    [id, cause],
  );
}
