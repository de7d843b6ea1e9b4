import type { Services } from "../../core/plugin/index.ts";
import type { newVoucherCode } from "./code.ts";

type Database = Services["database"];

/** Codes of one amount that are made together. Amounts are in µđ. */
export interface Batch {
  readonly id: string;
  readonly amountMicroVnd: bigint;
  readonly codes: number;
  /** How many customers can redeem one code. */
  readonly uses: number;
  readonly oncePerCustomer: boolean;
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly note: string;
  readonly createdAt: Date;
  /** Null while it waits for a second person. */
  readonly openedAt: Date | null;
  readonly cancelledAt: Date | null;
  readonly redeemed: number;
}

/** A redemption as operators see it. */
interface Redeemed {
  readonly sequence: bigint;
  readonly accountId: string;
  readonly prefix: string;
  readonly reference: string;
  readonly redeemedAt: Date;
  /** Null until the ledger has it. */
  readonly creditedAt: Date | null;
}

const SELECT = `select id, amount as "amountMicroVnd", codes, uses, once_per_customer as "oncePerCustomer",
  starts_at as "startsAt", ends_at as "endsAt", note, created_at as "createdAt", opened_at as "openedAt", cancelled_at as "cancelledAt",
  (select count(*)::integer from vouchers_redemptions where batch = b.id) as redeemed
  from vouchers_batches b`;

/** Stores a batch and the hashes of its codes, in one statement. No code is valid before `openBatch`. */
export async function createBatch(
  database: Database,
  batch: Omit<Batch, "openedAt" | "cancelledAt" | "redeemed">,
  codes: readonly Omit<ReturnType<typeof newVoucherCode>, "code">[],
): Promise<void> {
  await database.query(
    `with batch as (
      insert into vouchers_batches (
        id, amount, codes, uses, once_per_customer, starts_at, ends_at, note, created_at
      ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id, uses
    )
    insert into vouchers_codes (hash, batch, prefix, uses_left)
    select decode(code.hash, 'hex'), batch.id, code.prefix, batch.uses
    from batch, json_to_recordset($10::text::json) as code (hash text, prefix text)`,
    [
      ...[batch.id, batch.amountMicroVnd, batch.codes, batch.uses, batch.oncePerCustomer],
      ...[batch.startsAt, batch.endsAt, batch.note, batch.createdAt],
      JSON.stringify(codes.map(({ hash, prefix }) => ({ hash, prefix }))),
    ],
  );
}

/** Returns batches, newest first; `before` is the last id of the previous page. */
export function batchesIn(
  database: Database,
  limit: number,
  before: string | undefined,
): Promise<Batch[]> {
  // Ids sort by time.
  return database.query(`${SELECT} where $2::uuid is null or id < $2 order by id desc limit $1`, [
    limit,
    before ?? null,
  ]);
}

export async function batchOf(database: Database, id: string): Promise<Batch | undefined> {
  const [batch] = await database.query<Batch>(`${SELECT} where id = $1`, [id]);
  return batch;
}

/** Makes the codes of a batch valid, from its first day. Idempotent. */
export async function openBatch(database: Database, id: string, now: Date): Promise<void> {
  await database.query(
    "update vouchers_batches set opened_at = $2 where id = $1 and opened_at is null",
    [id, now],
  );
}

/** Ends a batch. What was redeemed stays. Idempotent. */
export async function cancelBatch(database: Database, id: string, now: Date): Promise<void> {
  await database.query(
    "update vouchers_batches set cancelled_at = $2 where id = $1 and cancelled_at is null",
    [id, now],
  );
}

/** Returns who redeemed codes of a batch, newest first; `before` is the last sequence of the previous page. */
export function redemptionsOf(
  database: Database,
  id: string,
  limit: number,
  before: bigint | undefined,
): Promise<Redeemed[]> {
  return database.query(
    `select sequence, account_id as "accountId", prefix, reference, redeemed_at as "redeemedAt",
      credited_at as "creditedAt"
    from vouchers_redemptions r join vouchers_codes c on c.hash = r.code
    where r.batch = $1 and ($3::bigint is null or sequence < $3) order by sequence desc limit $2`,
    [id, limit, before ?? null],
  );
}
