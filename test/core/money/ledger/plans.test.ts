import t from "tap";
import { accountChanges } from "../../../../core/accounts/key-changes.ts";
import type { Sql } from "../../../../core/database/client.ts";
import type { Parameter } from "../../../../core/database/database.ts";
import type { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { topUps } from "../../../../core/money/ledger/top-ups.ts";
import { newId } from "../../../../core/process/id.ts";
import { usageBooksOf } from "../../../../core/usage/usage-books.ts";
import { accountsIn } from "../../../support/stored-accounts.ts";
import { AT, fundedAccount, topUp } from "./fixtures.ts";
import { startTestLedger, type TestLedger } from "./test-ledger.ts";

const CALLS = 20_000;
/** More sums than one reply has. */
const [MODELS, DAYS] = [40, 365];
const ACCOUNTS = 5_000;
/** Rows that a node may read for a page of ten: far fewer than there are calls. */
const READ_MAX = 500;

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Filter?: string;
  readonly Plans?: readonly Node[];
}

/** The query plans for an account with many calls, few of which match the query. */
t.test("plans", async (t) => {
  const [busyKey, rareKey] = [newId(AT), newId(AT)];
  const keyIds = [busyKey, rareKey, ...Array.from({ length: 100 }, () => newId(AT))];
  let books: TestLedger;
  let ledger: PostgresLedger;
  let sql: Sql;
  let accountId: string;
  let ownerOfKeys: string;
  let otherId: string;
  let soundKey: string;
  const chartedKey = newId(AT);

  t.before(async () => {
    books = await startTestLedger(2, () => AT);
    ({ ledger, sql } = books);
    await ledger.start();
    await usageBooksOf(ledger.database).prepare();
    accountId = await fundedAccount(ledger, 5n);
    await ledger.credit(topUp(accountId, 7n, "transfer:1"));
    await sql.query("select make_usage_partition($1)", [new Date(AT)]);
    // One call in a thousand, all of them old, has the rare key, the rare model, or a failure.
    await sql.query(
      `insert into usage_records (
        call_id, at, account_id, key_id, endpoint, model, input_tokens, cache_read_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, images, charged, written_off,
        discount_bps, latency_ms, status, streamed, outcome, estimated, unit, catalogue_version, unit_price
      )
      select gen_random_uuid(), $2::timestamptz + n * interval '1 second', $1,
        case when n % 10 = 1 and n < ${CALLS / 100} then $4::uuid else $3::uuid end, '/v1/messages',
        case when n % 10 = 2 and n < ${CALLS / 100} then 'rare' else 'busy' end,
        1, 0, 0, 1, 0, 0, 1, 0, 0, 1,
        case when n % 10 = 3 and n < ${CALLS / 100} then 503 else 200 end, true, 'complete', false, 'mtok', '0123abcd', 36000000000
      from generate_series(1, ${CALLS}) n`,
      [accountId, new Date(AT), busyKey, rareKey],
    );
    await sql.query(
      `insert into ledger_entries (account_id, kind, amount, balance_after, call_id)
      select $1, 'charge', -1, 0, overlay(gen_random_uuid()::text placing $2 from 1 for 13)::uuid
      from generate_series(1, ${CALLS})`,
      [accountId, newId(AT).slice(0, 13)],
    );
    await sql.query(
      `insert into ledger_entries (account_id, kind, amount, balance_after, reference)
      select gen_random_uuid(), 'topup', 1, 1, 'of others:' || n from generate_series(1, 20000) n`,
    );
    ownerOfKeys = await fundedAccount(ledger, 0n);
    await sql.query(
      `insert into usage_daily
      select $1, date '2024-01-01' + day, 'busy', id, 1, 1, 1, 1, now()
      from unnest($2::text::uuid[]) id, generate_series(1, 100) day`,
      [ownerOfKeys, `{${keyIds.join(",")}}`],
    );
    // Another account: half of its calls of one model failed, and none of the other; the same of its keys.
    const others = [await fundedAccount(ledger, 0n), newId(AT), newId(AT)];
    [otherId = "", soundKey = ""] = others;
    await sql.query(
      `insert into usage_records (
        call_id, at, account_id, key_id, endpoint, model, input_tokens, cache_read_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, images, charged, written_off,
        discount_bps, latency_ms, status, streamed, outcome, estimated, unit, catalogue_version, unit_price
      )
      select gen_random_uuid(), $4::timestamptz + n * interval '1 second', $1,
        case when n % 2 = 0 then $2::uuid else $3::uuid end, '/v1/messages',
        case when n % 2 = 0 then 'sound' else 'failing' end,
        1, 0, 0, 1, 0, 0, 1, 0, 0, 1, case when n % 2 = 0 then 200 else 500 end, true, 'complete', false, 'mtok', '0123abcd', 36000000000
      from generate_series(1, ${CALLS}) n`,
      [...others, new Date(AT)],
    );
    await sql.query(
      `insert into usage_daily
      select $1, date '2023-01-01' + day, 'model ' || model, $2, 1, 1, 1, 1, now()
      from generate_series(1, ${MODELS}) model, generate_series(1, ${DAYS}) day`,
      [otherId, chartedKey],
    );
    await sql.query(
      `with account as (
        insert into accounts (id, email)
        select gen_random_uuid(), 'customer' || n || '@example.com' from generate_series(1, ${ACCOUNTS}) n
        returning id
      )
      insert into api_keys (id, account_id, name, hash, prefix)
      select gen_random_uuid(), id, 'key', sha256(id::text::bytea), 'tg-' || left(md5(id::text), 7)
      from account`,
    );
    await sql.script("analyze");
  });
  t.teardown(async () => {
    await books?.stop();
  });

  /** Runs `work` with a database that explains each statement; returns the maximum number of rows that a node read. */
  async function rowsRead(work: (database: Pick<Sql, "query">) => Promise<unknown>) {
    let rows = 0;
    const indexes = new Set<string>();
    const filters: string[] = [];
    const scanned: string[] = [];
    const visit = (node: Node) => {
      const read = node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0);
      rows = Math.max(rows, read * node["Actual Loops"]);
      const table = node["Relation Name"];
      if (node["Node Type"] === "Seq Scan" && table && read > 0) scanned.push(table);
      if (node.Filter) filters.push(node.Filter);
      if (node["Index Name"]) indexes.add(node["Index Name"]);
      for (const plan of node.Plans ?? []) visit(plan);
    };
    await work({
      async query<Row extends object>(text: string, parameters?: readonly Parameter[]) {
        const [row] = await sql.query<{ "QUERY PLAN": string | [{ Plan: Node }] }>(
          `explain (analyze, format json) ${text}`,
          parameters,
        );
        const plan = row?.["QUERY PLAN"] ?? "[]";
        for (const { Plan } of typeof plan === "string" ? JSON.parse(plan) : plan) visit(Plan);
        return sql.query<Row>(text, parameters);
      },
    });
    return { rows, scanned, indexes: [...indexes].join(" "), filters: filters.join(" ") };
  }

  for (const [name, filter, found] of [
    ["of all calls", {}, 10],
    ["of a model called seldom", { model: "rare" }, 10],
    ["of a key used seldom", { key: rareKey }, 10],
    ["of calls that failed", { status: "failed" }, 10],
    ["of one status", { status: 503 }, 10],
    ["of a key for a model that it has not called", { key: rareKey, model: "rare" }, 0],
  ] as const) {
    t.test(`a page ${name} reads few of the account's calls`, async (t) => {
      const { rows } = await rowsRead(async (database) => {
        const books = usageBooksOf({ ...ledger.database, query: database.query });
        const page = await books.page({ accountId, filter, limit: 10 });
        t.equal(page.length, found);
      });
      t.ok(rows <= READ_MAX, `${rows} rows`);
    });
  }

  for (const name of ["model", "key"] as const) {
    t.test(
      `a page of failed calls of a ${name} that never fails reads none of the others`,
      async (t) => {
        const { rows, scanned } = await rowsRead(async (database) => {
          const books = usageBooksOf({ ...ledger.database, query: database.query });
          const filter = { [name]: name === "model" ? "sound" : soundKey };
          for (const status of ["failed", 500] as const) {
            const page = { accountId: otherId, filter: { ...filter, status }, limit: 10 };
            t.strictSame(await books.page(page), []);
          }
        });
        t.ok(rows <= READ_MAX, `${rows} rows`);
        t.strictSame(scanned, []);
      },
    );
  }

  t.test(
    "no query of the pages scans the ledger, the records, their sums or the keys",
    async (t) => {
      const { scanned } = await rowsRead(async (database) => {
        const books = usageBooksOf({ ...ledger.database, query: database.query });
        const [call] = await books.page({ accountId, filter: {}, limit: 1 });
        await books.call(accountId, call?.callId ?? "");
        const from = new Date(AT);
        await books.page({ accountId, filter: { from, to: new Date(AT + 1) }, limit: 10 });
        await books.page({ accountId, filter: {}, limit: 10, before: call });
        for (const by of [["day"], ["model"], ["key"], ["day", "model"], ["day", "key"]] as const)
          await books.sums(accountId, by, { from });
        await books.byKey(accountId, [busyKey]);
        await topUps(database, { accountId, from, to: new Date(), referencePrefix: "" });
        await accountsIn(database).keyNames([busyKey]);
        await accountsIn(database).keys(ownerOfKeys);
        await accountChanges(database, 1_000).next();
      });
      t.strictSame(scanned, []);
    },
  );

  t.test(
    "an account is found by its id or address, or by an id or the beginning of a key, in an index",
    async (t) => {
      const [key] = await sql.query<{ id: string; prefix: string; accountId: string }>(
        `select id, prefix, account_id as "accountId" from api_keys limit 1`,
      );
      for (const query of [key?.id, key?.accountId]) {
        const { scanned, rows } = await rowsRead(async (database) => {
          const found = await accountsIn(database).search({ query, limit: 10 });
          t.strictSame(
            found.map(({ id }) => id),
            [key?.accountId],
          );
        });
        t.strictSame(scanned, []);
        t.ok(rows <= 10, `${rows} rows`);
      }
      const { indexes, scanned } = await rowsRead(async (database) => {
        const found = await accountsIn(database).search({ query: `${key?.prefix}abc`, limit: 10 });
        t.ok(found.some(({ id }) => id === key?.accountId));
        const email = found[0]?.email ?? "";
        const named = await accountsIn(database).search({ query: email.toUpperCase(), limit: 10 });
        t.equal(named[0]?.email, email);
      });
      t.match(indexes, "api_keys_prefix");
      t.strictSame(scanned, []);
    },
  );

  t.test("the total of a usage page counts what its list has no room for", async (t) => {
    const books = usageBooksOf({ ...ledger.database, query: sql.query });
    const { sums, total, isCut } = await books.sums(otherId, ["model", "day"], { key: chartedKey });
    t.equal(isCut, true);
    t.equal(total.calls, MODELS * DAYS);
    t.equal(total.chargedMicroVnd, BigInt(MODELS * DAYS));
    t.equal(sums.length % MODELS, 0, "whole days");
    t.ok(sums.length > 11_000 && sums.length <= 12_000, `${sums.length} sums`);
    t.equal(sums.at(-1)?.day, "2024-01-01", "the newest day");
    t.equal((await books.sums(otherId, ["model"], { key: chartedKey })).isCut, false);
  });

  t.test(
    "used keys and their names are read without a list that is parsed for each row",
    async (t) => {
      const used = await rowsRead(async (database) => {
        const books = usageBooksOf({ ...ledger.database, query: database.query });
        t.equal((await books.byKey(ownerOfKeys, keyIds)).length, keyIds.length);
      });
      const names = await rowsRead((database) => accountsIn(database).keyNames(keyIds));
      t.notMatch(`${used.filters} ${names.filters}`, /any|cstring/i);
    },
  );

  t.test("top-ups are summed with their own index, whatever their reference", async (t) => {
    for (const referencePrefix of ["", "transfer:"]) {
      const [from, to] = [new Date(0), new Date()];
      const { rows, indexes } = await rowsRead((database) =>
        topUps(database, { accountId, from, to, referencePrefix }),
      );
      t.ok(rows <= 2, `${rows} rows`);
      t.equal(indexes, "ledger_entries_rest_account_id_at_kind_amount_reference_idx");
    }
  });
});
