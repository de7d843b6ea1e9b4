import t from "tap";
import type { Sql } from "../../../../core/database/client.ts";
import { purseSums } from "../../../../core/money/ledger/purses.ts";
import { sums, unknown } from "../../../../core/money/ledger/sums.ts";

/** Wallets of a page. */
const PAGE = 1_000;

/** A ledger with `count` wallets, named by their number. */
function ledger(count: number) {
  const asked: string[] = [];
  const sql = {
    async query(text: string, [after = "", limit = 0]: [string, number]) {
      t.match(text, /account_id > \$1 order by account_id limit \$2/);
      asked.push(after);
      const first = after.startsWith("0000") ? 0 : Number(after) + 1;
      const last = Math.min(count, first + limit);
      return Array.from({ length: last - first }, (_, at) => ({ accountId: String(first + at) }));
    },
  };
  return { sql: sql as unknown as Sql, asked };
}

t.test("sums are read page by page, each wallet once", async (t) => {
  for (const [count, pages] of [
    [0, 1],
    [PAGE - 1, 1],
    [PAGE, 2],
    [PAGE + 1, 2],
    [2 * PAGE + 1, 3],
  ] as const) {
    const { sql, asked } = ledger(count);
    const found: string[] = [];
    for await (const { accountId } of sums(sql)) found.push(accountId);
    t.equal(new Set(found).size, count);
    t.equal(found.length, count);
    t.equal(asked.length, pages, `${count} wallets`);
    t.equal(asked[0], "00000000-0000-0000-0000-000000000000");
  }
});

t.test(
  "rows that calls write while wallets are read are proven, before each page adds them up",
  async (t) => {
    const { sql } = ledger(3 * PAGE);
    let proofs = 0;
    const prove = async () => {
      proofs += 1;
    };
    const readAll = async (options: object) => {
      proofs = 0;
      for await (const _ of sums(sql, { prove, ...options }));
      return proofs;
    };
    t.equal(await readAll({ pageMsMax: -1 }), 3, "after each page, since each took long");
    t.equal(await readAll({ pageMsMax: 60_000 }), 0);
  },
);

t.test("purses are read page by page, each purse once", async (t) => {
  for (const count of [0, PAGE, PAGE + 1, 2 * PAGE]) {
    const all = Array.from({ length: count }, (_, at) => ({
      accountId: `a${at >> 1}`,
      purse: `${at}`,
    }));
    const sql = {
      async query(text: string, [accountId = "", purse = "", max = 0]: [string, string, number]) {
        t.match(
          text,
          /\(account_id, name\) > \(\$1::uuid, \$2\) order by account_id, name limit \$3/,
        );
        const after = all.findIndex((each) => each.accountId === accountId && each.purse === purse);
        return all.slice(after + 1, after + 1 + max);
      },
    };
    const found: unknown[] = [];
    for await (const sum of purseSums(sql as unknown as Sql)) found.push(sum);
    t.strictSame(found, all);
  }
});

t.test(
  "accounts without a wallet are found, and no text but an id reaches the database",
  async (t) => {
    const [known, missing] = [
      "01900000-0000-7000-8000-00000000aaaa",
      "01900000-0000-7000-8000-00000000bbbb",
    ];
    const asked: unknown[] = [];
    const sql = {
      async query(_text: string, parameters: unknown[]) {
        asked.push(...parameters);
        return [{ accountId: known, purse: null }];
      },
    };
    const of = (accountId: string) => ({ accountId, purse: null, version: 0 });
    const odd = of("'); drop");
    const found = await unknown(sql as unknown as Sql, [of(known), of(missing), odd]);
    t.strictSame(found, [of(missing), odd]);
    t.strictSame(asked, [JSON.stringify([of(known), of(missing)])]);
  },
);
