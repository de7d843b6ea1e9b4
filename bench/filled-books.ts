import { hash } from "node:crypto";
import { keyRowsOf } from "../core/accounts/key-rows.ts";
import { KeyForm } from "../core/accounts/keys.ts";
import type { Sql } from "../core/database/client.ts";
import { databaseOf } from "../core/database/migrate.ts";
import type { Children } from "./children.ts";
import { type Stores, startStore } from "./posted-calls.ts";
import { fillMonth, makeAccounts, type UsageRows } from "./usage-rows.ts";

/** The top-up of each account, in µđ: enough for all calls. */
const TOP_UP = 10_000_000_000_000;
const KEYS_AT_ONCE = 5_000;
const WALLETS_AT_ONCE = 1_000;
const NO_ACCOUNT = "00000000-0000-0000-0000-000000000000";

/** An account with a key that works. */
export interface Customer {
  readonly accountId: string;
  readonly key: string;
}

/** Fills the ledger with accounts and their calls, so that the books are proven. Returns the small accounts. */
export async function fillBooks(sql: Sql, rows: UsageRows): Promise<Customer[]> {
  await makeAccounts(sql, rows);
  await sql.script(
    `insert into ledger_entries_rest (account_id, kind, amount, balance_after, reference)
      select account_id, 'topup', ${TOP_UP}, ${TOP_UP}, 'fill:' || account_id
      from wallets where credit_version = 0;
    update wallets set balance = ${TOP_UP}, credited = ${TOP_UP}, credit_version = 1 where credit_version = 0;`,
    { isLong: true },
  );
  for (const month of rows.months) {
    await fillMonth(sql, rows, month);
    await chargeMonth(sql, month.replace("-", "_"));
    console.error(`${month}: made`);
  }
  const customers = await makeKeys(sql, rows.smallAccounts);
  await sql.script("analyze", { isLong: true });
  return customers;
}

/** Charges the calls of a month, in the order of their times. */
async function chargeMonth(sql: Sql, month: string): Promise<void> {
  await sql.script(
    `set local work_mem = '256MB';
    insert into ledger_entries_${month} (account_id, kind, amount, balance_after, call_id, at)
      select account_id, 'charge', -charged,
        balance - sum(charged) over (partition by account_id order by at, call_id), call_id, at
      from usage_records_${month} join wallets using (account_id) order by at;
    update wallets set balance = balance - total.charged
      from (select account_id, sum(charged)::bigint as charged from usage_records_${month} group by 1) total
      where total.account_id = wallets.account_id;`,
    { isLong: true },
  );
}

async function makeKeys(sql: Sql, accounts: number): Promise<Customer[]> {
  const form = new KeyForm(keyRowsOf(databaseOf(sql)));
  await form.start();
  const customers: Customer[] = [];
  for (let first = 1; first <= accounts; first += KEYS_AT_ONCE) {
    const length = Math.min(KEYS_AT_ONCE, accounts + 1 - first);
    const keys = await Promise.all(Array.from({ length }, () => form.create()));
    const made = await sql.query<{ accountId: string }>(
      `insert into api_keys (id, account_id, name, hash, prefix)
        select md5('call key:' || account)::uuid, md5('account:' || account)::uuid, 'calls', decode(digest, 'hex'), left(digest, 11)
        from jsonb_array_elements_text($1::text::jsonb) with ordinality made (digest, n)
        cross join lateral (select $2::bigint + n - 1) number (account) order by n
      returning account_id as "accountId"`,
      [JSON.stringify(keys.map((key) => hash("sha256", key, "hex"))), first],
    );
    for (const [at, { accountId }] of made.entries())
      customers.push({ accountId, key: keys[at] ?? "" });
  }
  return customers;
}

/** Opens the wallets of all accounts in Redis, as gateways have done that died. Another must be a member. */
export async function openWallets(children: Children, { redis, sql }: Stores): Promise<number> {
  const { store, client } = await startStore(redis.url, sql, children.folder("spool"), 1);
  let opened = 0;
  for (let last = NO_ACCOUNT; ; ) {
    const page = await sql.query<OpenedWallet>(
      `select account_id as "accountId", balance as "balanceMicroVnd", credit_version as "creditVersion",
        credited as "creditedMicroVnd"
      from wallets where account_id > $1 order by account_id limit $2`,
      [last, WALLETS_AT_ONCE],
    );
    await Promise.all(page.map((wallet) => store.load(wallet.accountId, async () => wallet)));
    opened += page.length;
    const end = page.at(-1);
    if (end === undefined) break;
    last = end.accountId;
  }
  await store.stop();
  client.disconnect();
  return opened;
}

interface OpenedWallet {
  readonly accountId: string;
  readonly balanceMicroVnd: bigint;
  readonly creditVersion: number;
  readonly creditedMicroVnd: bigint;
}
