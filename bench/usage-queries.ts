import { StoredAccounts } from "../core/accounts/accounts.ts";
import { accountChanges } from "../core/accounts/key-changes.ts";
import type { Sql } from "../core/database/client.ts";
import type { Database } from "../core/database/database.ts";
import { purseSums } from "../core/money/ledger/purses.ts";
import { sum, sums } from "../core/money/ledger/sums.ts";
import { topUps } from "../core/money/ledger/top-ups.ts";
import { callById, usage } from "../core/money/ledger/usage.ts";
import type { UsageFilter } from "../core/usage/books.ts";
import type { UsageBooks } from "../core/usage/usage-books.ts";
import { daysSummedMax } from "../plugins/dashboard/usage-input.ts";

/** The accounts of a database, without a cache of keys and a hold store to tell of changes. */
function accountsIn(database: Database): StoredAccounts {
  const nothing = async () => {};
  return new StoredAccounts(
    database,
    { forgetAccount() {} },
    { revoke: nothing, restore: nothing },
  );
}

/** An account with calls, and what its queries ask for. */
export interface Asked {
  readonly accountId: string;
  /** A key and a model that call a lot, and some of the account's keys. */
  readonly key: string;
  readonly keys: readonly string[];
  /** The beginning of one of its keys, and its address. */
  readonly keyPrefix: string;
  readonly address: string;
  readonly model: string;
  /** Both are used all the time, but seldom together. */
  readonly seldom: { readonly key: string; readonly model: string };
  /** Used for the account's first calls only. */
  readonly rare: { readonly key: string; readonly model: string };
  /** Neither ever fails. */
  readonly sound: { readonly key: string; readonly model: string };
  /** The time of some call. */
  readonly at: Date;
  /** A time after all calls. */
  readonly end: Date;
  /** The ids of a call of the account, and of none. */
  readonly callId: string;
  readonly noCallId: string;
}

type Reader = Pick<Sql, "query">;

interface Query {
  readonly name: string;
  run(database: Reader, books: UsageBooks, asked: Asked): Promise<unknown>;
}

const DAY_MS = 86_400_000;
const PAGE = 50;
const CSV_PAGE = 250;
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

const filters: readonly (readonly [string, (asked: Asked) => UsageFilter])[] = [
  ["all", () => ({})],
  ["a day", ({ at }) => ({ from: at, to: new Date(at.getTime() + DAY_MS) })],
  ["three months", ({ at }) => ({ from: new Date(at.getTime() - 90 * DAY_MS), to: at })],
  ["model", ({ model }) => ({ model })],
  ["rare model", ({ rare }) => ({ model: rare.model })],
  ["key", ({ key }) => ({ key })],
  ["rare key", ({ rare }) => ({ key: rare.key })],
  ["ok", () => ({ status: "ok" })],
  ["failed", () => ({ status: "failed" })],
  ["503", () => ({ status: 503 })],
  ["418, none", () => ({ status: 418 })],
  ["model and key", ({ model, key }) => ({ model, key })],
  ["model and key, seldom together", ({ seldom }) => ({ ...seldom })],
  ["model and key, never together", ({ model, rare }) => ({ model, key: rare.key })],
  ["model, failed", ({ model }) => ({ model, status: "failed" })],
  ["model, ok", ({ model }) => ({ model, status: "ok" })],
  ["sound model, failed", ({ sound }) => ({ model: sound.model, status: "failed" })],
  ["key, failed", ({ key }) => ({ key, status: "failed" })],
  ["key, ok", ({ key }) => ({ key, status: "ok" })],
  ["sound key, failed", ({ sound }) => ({ key: sound.key, status: "failed" })],
  ["model and key, failed", ({ model, key }) => ({ model, key, status: "failed" })],
  ["model and key, seldom together, ok", ({ seldom }) => ({ ...seldom, status: "ok" })],
  ["model and key, seldom together, failed", ({ seldom }) => ({ ...seldom, status: "failed" })],
];

const pages: Query[] = filters.flatMap(([name, filterOf]) => [
  {
    name: `page: ${name}`,
    run: (_database, books, asked) =>
      books.page({ accountId: asked.accountId, filter: filterOf(asked), limit: PAGE }),
  },
  {
    name: `page of a file, from some time: ${name}`,
    run: (_database, books, asked) => {
      const { accountId, at } = asked;
      const before = { at, callId: LAST_ID };
      return books.page({ accountId, filter: filterOf(asked), limit: CSV_PAGE, before });
    },
  },
]);

const days = ({ at }: Pick<Asked, "at">, count: number): UsageFilter => ({
  from: new Date(at.getTime() - (count - 1) * DAY_MS),
  to: at,
});
const periods: readonly (readonly [string, (asked: Asked) => UsageFilter])[] = [
  ["a year", ({ end }) => days({ at: end }, daysSummedMax([], {}))],
  ["30 days", ({ at }) => days({ at }, 30)],
  ["of a model", ({ end, model }) => ({ ...days({ at: end }, daysSummedMax([], {})), model })],
  ["of a key", ({ end, key }) => ({ ...days({ at: end }, daysSummedMax([], {})), key })],
  [
    "of a model and a key",
    ({ end, model, key }) => ({ ...days({ at: end }, daysSummedMax([], {})), model, key }),
  ],
];

const summed: Query[] = periods.flatMap(([name, filterOf]) =>
  ([["day"], ["model"], ["key"], ["day", "model"], ["day", "key"]] as const).map((by) => ({
    name: `sums by ${by.join(" and ")}: ${name}`,
    run: (_database: Reader, books: UsageBooks, asked: Asked) =>
      books.sums(asked.accountId, by, filterOf(asked)),
  })),
);
const summedByBoth: Query[] = (
  [
    ["model", "key"],
    ["day", "model", "key"],
  ] as const
).map((by) => ({
  name: `sums by ${by.join(" and ")}: ${daysSummedMax(by, {})} days`,
  run: (_database: Reader, books: UsageBooks, asked: Asked) =>
    books.sums(asked.accountId, by, days(asked, daysSummedMax(by, {}))),
}));

const summedByStatus: Query[] = (
  [
    ["failed", () => ({ status: "failed" })],
    ["ok", () => ({ status: "ok" })],
    ["503", () => ({ status: 503 })],
    ["418, none", () => ({ status: 418 })],
    ["model, failed", ({ model }) => ({ model, status: "failed" })],
    ["key, ok", ({ key }) => ({ key, status: "ok" })],
    ["model and key, failed", ({ model, key }) => ({ model, key, status: "failed" })],
  ] as const satisfies readonly (readonly [string, (asked: Asked) => UsageFilter])[]
).map(([name, filterOf]) => ({
  name: `sums by day and model: 30 days, ${name}`,
  run: (_database: Reader, books: UsageBooks, asked: Asked) =>
    books.sums(asked.accountId, ["day", "model"], { ...days(asked, 30), ...filterOf(asked) }),
}));

/** Every query that a page, an API, a command or a scrape makes for one account, or for a page of accounts. */
export const usageQueries: readonly Query[] = [
  ...pages,
  ...summed,
  ...summedByBoth,
  ...summedByStatus,
  {
    name: "statement of a month",
    run: (_database, books, { accountId, at, end }) =>
      books.statement(accountId, new Date(at.getTime() - 20 * DAY_MS), end),
  },
  {
    name: "archived before",
    run: (_database, books, { accountId }) => books.archivedBefore(accountId, {}),
  },
  {
    name: "archived call",
    run: (_database, books, { accountId, noCallId }) => books.archivedCall(accountId, noCallId),
  },
  { name: "call", run: (_database, books, { accountId, callId }) => books.call(accountId, callId) },
  {
    name: "no call",
    run: (_database, books, { accountId, noCallId }) => books.call(accountId, noCallId),
  },
  { name: "refused", run: (_database, books, { accountId }) => books.refused(accountId, {}) },
  {
    name: "sums by model: all days",
    run: (_database, books, { accountId }) => books.sums(accountId, ["model"], {}),
  },
  { name: "by key", run: (_database, books, { accountId, keys }) => books.byKey(accountId, keys) },
  {
    name: "operator: page",
    run: (database, _books, { accountId }) => usage(database, { accountId, limit: PAGE }),
  },
  {
    name: "operator: page from some time",
    run: (database, _books, { accountId, at }) =>
      usage(database, { accountId, limit: PAGE, before: { at, callId: LAST_ID } }),
  },
  { name: "operator: call", run: (database, _books, { callId }) => callById(database, callId) },
  {
    name: "operator: account by id",
    run: (database, _books, { accountId }) =>
      accountsIn(database).search({ query: accountId, limit: PAGE }),
  },
  {
    name: "operator: account by an address",
    run: (database, _books, { address }) =>
      accountsIn(database).search({ query: address, limit: PAGE }),
  },
  {
    name: "operator: account by a key",
    run: (database, _books, { key }) => accountsIn(database).search({ query: key, limit: PAGE }),
  },
  {
    name: "operator: account by the beginning of a key",
    run: (database, _books, { keyPrefix }) =>
      accountsIn(database).search({ query: keyPrefix, limit: PAGE }),
  },
  {
    name: "names of keys",
    run: (database, _books, { keys }) => accountsIn(database).keyNames(keys),
  },
  {
    name: "keys",
    run: (database, _books, { accountId }) => accountsIn(database).latestKeys(accountId, 10),
  },
  {
    name: "all keys",
    run: (database, _books, { accountId }) => accountsIn(database).keys(accountId),
  },
  {
    name: "accounts and keys that changed",
    run: (database) => accountChanges(database, 1_000).next(),
  },
  {
    name: "top-ups",
    run: (database, _books, { accountId, at }) =>
      topUps(database, { accountId, from: at, to: new Date(), referencePrefix: "" }),
  },
  {
    name: "balance of one wallet",
    run: (database, _books, { accountId }) => sum(database, accountId),
  },
  {
    name: "balances of a thousand wallets",
    run: (database) => sums(database).next(),
  },
  { name: "purses of a thousand wallets", run: (database) => purseSums(database).next() },
];
