import assert from "node:assert/strict";
import type { Sql } from "../../../../core/database/client.ts";
import { debitOf } from "../../../../core/money/debit.ts";
import { entryOf } from "../../../../core/money/entry.ts";
import type { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import type { CreditResult, Ledger } from "../../../../core/money/ledger.ts";
import type {
  DebitEntry,
  Movement,
  OutboxEntry,
  Posting,
} from "../../../../core/money/outbox-entry.ts";
import { newId } from "../../../../core/process/id.ts";
import { posting } from "../../../support/posting.ts";
import { accountsIn } from "../../../support/stored-accounts.ts";

/** A started ledger, and a separate connection to check its tables. */
export interface LedgerUnderTest {
  readonly ledger: PostgresLedger;
  readonly sql: Sql;
}

export const AT = Date.UTC(2025, 5, 15, 12);

/** Creates an account with this many µđ. */
export async function fundedAccount(
  ledger: PostgresLedger,
  amountMicroVnd: bigint,
): Promise<string> {
  const id = newId(AT);
  const account = { id, email: `${id}@example.com` };
  assert.equal(await accountsIn(ledger.database).create(account), "created");
  if (amountMicroVnd > 0n) {
    const result = await ledger.credit(topUp(id, amountMicroVnd));
    assert.equal(result.kind, "credited");
  }
  return id;
}

export function topUp(accountId: string, amountMicroVnd: bigint, reference = newId(AT)): Movement {
  return { accountId, amountMicroVnd, reference, kind: "topup", reason: null };
}

/** Returns the entry of a debit. */
export function debit(
  accountId: string,
  amountMicroVnd: bigint,
  reference = newId(AT),
  entryId = newId(AT),
): DebitEntry {
  const movement = { ...topUp(accountId, -amountMicroVnd, reference), kind: "adjustment" } as const;
  return { ...debitOf({ ...movement, reason: "wrong" }, AT), entryId };
}

/** Returns an outbox entry of a new call without a write-off. */
export function charge(
  accountId: string,
  chargedMicroVnd: number,
  call: Partial<Posting> = {},
): OutboxEntry {
  const made = posting({ callId: newId(AT), accountId, costMicroVnd: chargedMicroVnd, ...call });
  return entryOf("1", made, chargedMicroVnd, 0);
}

export async function balance(ledger: Ledger, accountId: string): Promise<bigint | undefined> {
  return (await ledger.wallet(accountId))?.balanceMicroVnd;
}

/** Returns the balance of an account, after a check that it equals the sum of its rows. */
export async function agreedBalance(ledger: Ledger, accountId: string): Promise<bigint> {
  const sum = await ledger.sum(accountId);
  assert.ok(sum !== undefined);
  assert.equal(sum.entriesMicroVnd, sum.balanceMicroVnd);
  return sum.balanceMicroVnd;
}

/** Adds up all rows of the ledger again. */
export async function proveFromStart(ledger: Ledger): Promise<void> {
  for (let isRestart = true; ; isRestart = false) {
    if ((await ledger.prove({ isRestart })).isDone) return;
  }
}

export function applied(result: CreditResult): string {
  return result.kind === "credited" ? String(result.applied) : result.kind;
}

/**
 * Locks the row of an account for a moment, so that operations begun in that time run concurrently and meet at the
 * lock. Resolves once the lock is taken; `released` resolves when it is released.
 */
export async function holdUp(
  sql: Sql,
  table: "wallets" | "accounts",
  id: string,
): Promise<{ released: Promise<unknown> }> {
  const lock = `select from ${table} where ${table === "wallets" ? "account_id" : "id"} = $1 for update`;
  const released = sql.query(`select pg_sleep(0.3) from (${lock}) locked`, [id]);
  while ((await sql.query(`${lock} skip locked`, [id])).length > 0);
  return { released };
}
