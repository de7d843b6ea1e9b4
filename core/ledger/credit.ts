import type { WalletSnapshot } from "../hot/hot.ts";
import { MICRO_VND_MAX } from "../money.ts";
import type { Sql, Transaction } from "./client.ts";
import type { Credit, CreditResult } from "./ledger.ts";

const BALANCE_MAX = BigInt(MICRO_VND_MAX);

interface Movement {
  readonly account_id: string;
  readonly kind: string;
  readonly amount: bigint;
}

/** One movement other than a call, in one transaction: the ledger row and the wallet with it. */
export function credit(sql: Sql, movement: Credit): Promise<CreditResult> {
  return sql.begin(async (tx): Promise<CreditResult> => {
    const wallet = await lockWallet(tx, movement.accountId);
    if (wallet === undefined) return { kind: "no_account" };
    const earlier = await movementBefore(tx, movement.reference);
    if (earlier !== undefined) return repetition(earlier, movement, wallet);
    const balance = wallet.balanceMicroVnd + movement.amountMicroVnd;
    if (balance < 0n) return { kind: "below_zero" };
    if (movement.amountMicroVnd === 0n || balance > BALANCE_MAX) return { kind: "out_of_range" };
    const inserted = await tx`
      insert into ledger_entries (account_id, kind, amount, balance_after, reference, reason)
      values (${movement.accountId}, ${movement.kind}, ${movement.amountMicroVnd}, ${balance},
        ${movement.reference}, ${movement.reason})
      on conflict do nothing returning id`;
    // The same account would have waited for its wallet, so the one that came first is another's.
    if (inserted.length === 0) return { kind: "reference_conflict" };
    return { kind: "credited", applied: true, wallet: await move(tx, movement) };
  });
}

/** What `credit` answers where the reference is known; undefined where it is not. */
export async function credited(sql: Sql, movement: Credit): Promise<CreditResult | undefined> {
  const earlier = await movementBefore(sql, movement.reference);
  if (earlier === undefined) return undefined;
  const wallet = await readWallet(sql, movement.accountId);
  return wallet === undefined ? { kind: "no_account" } : repetition(earlier, movement, wallet);
}

/** The wallet as the ledger has it; undefined where there is no such account. */
export async function readWallet(sql: Sql, accountId: string): Promise<WalletSnapshot | undefined> {
  const [wallet] = await sql<WalletSnapshot[]>`
    select ${walletColumns(sql)} from wallets where account_id = ${accountId}`;
  return wallet;
}

async function lockWallet(tx: Transaction, accountId: string): Promise<WalletSnapshot | undefined> {
  const [wallet] = await tx<WalletSnapshot[]>`
    select ${walletColumns(tx)} from wallets where account_id = ${accountId} for update`;
  return wallet;
}

async function move(tx: Transaction, movement: Credit): Promise<WalletSnapshot> {
  const [wallet] = await tx<WalletSnapshot[]>`
    update wallets
    set balance = balance + ${movement.amountMicroVnd}, credited = credited + ${movement.amountMicroVnd},
      credit_version = credit_version + 1
    where account_id = ${movement.accountId}
    returning ${walletColumns(tx)}`;
  if (wallet === undefined) throw new Error(`the wallet of ${movement.accountId} is gone`);
  return wallet;
}

function walletColumns(sql: Sql | Transaction) {
  return sql`account_id as "accountId", balance as "balanceMicroVnd",
    credit_version as "creditVersion", credited as "creditedMicroVnd"`;
}

async function movementBefore(
  sql: Sql | Transaction,
  reference: string,
): Promise<Movement | undefined> {
  const [earlier] = await sql<Movement[]>`
    select account_id, kind, amount from ledger_entries where reference = ${reference}`;
  return earlier;
}

function repetition(earlier: Movement, movement: Credit, wallet: WalletSnapshot): CreditResult {
  const isSame =
    earlier.account_id === movement.accountId &&
    earlier.amount === movement.amountMicroVnd &&
    earlier.kind === movement.kind;
  return isSame ? { kind: "credited", applied: false, wallet } : { kind: "reference_conflict" };
}
