import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { type Asked, usageQueries } from "../../../bench/usage-queries.ts";
import {
  fillMonth,
  KEYS,
  keyOfLarge,
  LARGE,
  makeAccounts,
  RARE,
  SELDOM,
  SOUND,
} from "../../../bench/usage-rows.ts";
import type { Sql } from "../../../core/database/client.ts";
import type { Parameter } from "../../../core/database/database.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { usageBooksOf } from "../../../core/usage/usage-books.ts";
import { startTestLedger } from "../money/ledger/test-ledger.ts";

const ROWS = { months: ["2026-01", "2026-02"], callsPerMonth: 24_000, smallAccounts: 70 };
/** Calls that one node of a plan may read for a page of 50, and of 1,000: the account has 12,000 of them. */
const [READ_MAX, READ_OF_FILE_MAX] = [400, 2_500];
/** Accounts and keys that one node may read to find an account: there are 71 and 171. */
const READ_TO_FIND_MAX = 30;
/** Sums by day, model and key that one node of a plan may read: the account has 9,500 of them, and no node reads one twice. */
const SUMS_READ_MAX = 10_000;
/** An account that grows after Postgres has counted, so that it expects hardly any calls of it: one key, one model. */
const NEW = { account: "11111111-0000-4000-8000-000000000001", calls: 3_000 };
/** Charges of the large account, and top-ups of others. */
const MOVEMENTS = 9_000;
/** Tables that grow with the calls, or with the customers. */
const GROWING = /^(?:usage_records|usage_daily|ledger_entries|refused_calls|accounts|api_keys)/;
/** Files whose statements on these tables are no reads of a page, a command or a scrape for one account. */
const OTHERS: Readonly<Record<string, string>> = {
  "core/money/ledger/credit.ts":
    "looks for one reference by its unique index, and reads the newest movements by their ids",
  "core/money/ledger/corrections.ts": "looks for references and for a call by their unique indexes",
  "core/money/ledger/proof.ts": "reads the next 100,000 rows by their ids",
  "core/money/ledger/quarantine.ts": "looks for one call by its unique index",
  "core/usage/moved.ts":
    "reads at most the next 50,000 rows by their ids, and the refusals of five minutes",
  "core/usage/report.ts": "reads the movements of all accounts since a day, for an operator",
  "core/usage/usage-books.ts": "reads the newest 10,000 calls by their time, once a minute",
  "core/usage/usage-page-statement.ts": "is sent by usage-records.ts",
  "core/usage/usage-sources.ts": "is sent by usage-sums.ts",
};

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Node[];
}

t.test("every query of the pages", async (t) => {
  /** The files of the project that have sent a statement. */
  const senders = new Set<string>();
  const books = await startTestLedger(1, () => Date.UTC(2026, 3));
  t.teardown(() => books.stop());
  const { ledger, sql } = books;
  await ledger.start();
  await usageBooksOf(ledger.database).prepare();
  await makeAccounts(sql, ROWS);
  for (const month of ROWS.months) await fillMonth(sql, ROWS, month);
  await sql.script(`insert into ledger_entries (account_id, kind, amount, balance_after, call_id)
      select account_id, 'charge', -1, 0, call_id from usage_records where account_id = ${LARGE} limit ${MOVEMENTS};
    insert into ledger_entries (account_id, kind, amount, balance_after, reference)
      select gen_random_uuid(), 'topup', 1, 1, 'of others:' || n from generate_series(1, ${MOVEMENTS}) n;
    analyze; insert into usage_records
    select (json_populate_record(record, json_build_object(
      'account_id', '${NEW.account}', 'key_id', '${NEW.account}', 'model', 'model-0', 'call_id', gen_random_uuid()
    ))).* from usage_records record where account_id = ${LARGE} limit ${NEW.calls}`);
  // A table as small as these is quick to scan. So a scan shows that no index fits.
  await sql.query("set enable_seqscan = off");
  const [ids] = await sql.query<{ account: string; first: string; last: string; rare: string }>(
    `select account_id as account, min(call_id::text) as first, max(call_id::text) as last,
      ${keyOfLarge(`'${RARE.key}'`)} as rare
    from usage_records where account_id = ${LARGE} group by account_id`,
  );
  const keys = await sql.query<{ id: string }>(
    `select ${keyOfLarge("n")} as id from generate_series(0, ${KEYS - 1}) n order by n`,
  );
  const keyAt = (n: string) => keys[Number(n)]?.id ?? "";
  const asked: Asked = {
    accountId: ids?.account ?? "",
    key: keyAt("1"),
    keys: keys.map(({ id }) => id),
    keyPrefix: "tg-0-1",
    address: "Customer0@example.com",
    model: "model-0",
    seldom: { key: keyAt(SELDOM.key), model: SELDOM.model },
    rare: { key: ids?.rare ?? "", model: RARE.model },
    sound: { key: keyAt(SOUND.key), model: SOUND.model },
    at: new Date("2026-02-20T00:00Z"),
    end: new Date("2026-03-01T00:00Z"),
    callId: ids?.last ?? "",
    noCallId: `${ids?.first.slice(0, 19)}8000-000000000000`,
  };

  /** Runs `work`. Returns the most rows that a node of its plans read, and the growing tables that were scanned. */
  async function read(work: (database: Pick<Sql, "query">) => Promise<unknown>) {
    let rows = 0;
    const scanned: string[] = [];
    const visit = (node: Node) => {
      const table = node["Relation Name"] ?? "";
      const own =
        (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"];
      if (GROWING.test(table)) rows = Math.max(rows, own);
      if (GROWING.test(table) && node["Node Type"] === "Seq Scan" && own > 0) scanned.push(table);
      for (const plan of node.Plans ?? []) visit(plan);
    };
    await work({
      async query<Row extends object>(text: string, parameters?: readonly Parameter[]) {
        const sender = /dist\/((?:core|plugins)\/[\w/-]+)\.js/;
        const lines = (new Error().stack ?? "").split("\n").slice(2);
        const file = lines.map((line) => sender.exec(line)?.[1]).find((name) => name !== undefined);
        senders.add(`${file}.ts`);
        const [row] = await sql.query<{ "QUERY PLAN": string | [{ Plan: Node }] }>(
          `explain (analyze, format json) ${text}`,
          parameters,
        );
        const plan = row?.["QUERY PLAN"] ?? "[]";
        for (const { Plan } of typeof plan === "string" ? JSON.parse(plan) : plan) visit(Plan);
        return sql.query<Row>(text, parameters);
      },
    });
    return { rows, scanned };
  }

  for (const { name, run } of usageQueries) {
    t.test(`has a bound: ${name}`, async (t) => {
      const { rows, scanned } = await read((database) =>
        run(database, usageBooksOf({ ...ledger.database, query: database.query }), asked),
      );
      t.strictSame(scanned, []);
      if (name.startsWith("page of a file")) t.ok(rows <= READ_OF_FILE_MAX, `${rows} rows`);
      else if (/account by/.test(name)) t.ok(rows > 0 && rows <= READ_TO_FIND_MAX, `${rows} rows`);
      else if (/page|top-ups/.test(name)) t.ok(rows <= READ_MAX, `${rows} rows`);
      else t.ok(rows <= SUMS_READ_MAX, `${rows} rows`);
    });
  }

  const { account } = NEW;
  for (const { name, run } of usageQueries.filter(({ name }) => name.includes("page"))) {
    t.test(`has a bound for an account that grew quickly: ${name}`, async (t) => {
      const own = { key: account, model: "model-0" };
      const { rows } = await read((database) =>
        run(database, usageBooksOf({ ...ledger.database, query: database.query }), {
          ...{ ...asked, accountId: account, ...own, seldom: own, rare: own, sound: own },
        }),
      );
      t.ok(rows <= READ_MAX, `${rows} rows`);
    });
  }

  t.test("has a bound for a key of another account, and shows none of its calls", async (t) => {
    const { rows } = await read(async (database) => {
      const books = usageBooksOf({ ...ledger.database, query: database.query });
      for (const filter of [{ key: asked.key }, { key: asked.key, model: asked.model }])
        t.strictSame(await books.page({ accountId: account, filter, limit: 50 }), []);
    });
    t.ok(rows > 0 && rows <= READ_MAX, `${rows} rows`);
  });

  t.test("has the total of what a list has no room for", async (t) => {
    const [account, models, days] = ["11111111-0000-4000-8000-000000000002", 40, 365];
    await sql.query(
      `insert into usage_daily
      select $1, date '2023-01-01' + day, 'model ' || model, $1, 1, 1, 1, 1, now()
      from generate_series(1, ${models}) model, generate_series(1, ${days}) day`,
      [account],
    );
    const books = usageBooksOf({ ...ledger.database, query: sql.query });
    const { sums, total, isCut } = await books.sums(account, ["model", "day"], {});
    t.equal(isCut, true);
    t.strictSame([total.calls, total.chargedMicroVnd], [models * days, BigInt(models * days)]);
    t.equal(sums.length, Math.floor(12_000 / models) * models, "whole days");
    t.equal(sums.at(-1)?.day, "2024-01-01", "the newest day");
    t.equal((await books.sums(account, ["model"], {})).isCut, false);
  });

  t.test("would not pass without one", async (t) => {
    const scan = await read((database) =>
      database.query("select call_id from usage_records where latency_ms > $1 limit 10", [1e9]),
    );
    t.ok(scan.scanned.length > 0);
    const all = await read((database) =>
      database.query(
        "select call_id from usage_records where account_id = $1 and latency_ms > $2 limit 10",
        [asked.accountId, 1e9],
      ),
    );
    t.ok(all.rows > READ_OF_FILE_MAX, `${all.rows} rows`);
  });

  t.test("is tried here", (t) => {
    const reads = /(?:from|join)\s+(?:usage_records|usage_daily|ledger_entries|refused_calls)\b/;
    const files = ["core", "plugins"].flatMap((folder) =>
      readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts"))
        .map((name) => `${folder}/${name}`),
    );
    const withReads = files.filter((file) =>
      reads.test(readFileSync(join(packageRoot, file), "utf8")),
    );
    t.ok(withReads.length > 5);
    t.strictSame(
      withReads.filter((file) => !senders.has(file) && !(file in OTHERS)),
      [],
      "add their queries to bench/usage-queries.ts",
    );
    t.end();
  });
});
