import { randomUUID } from "node:crypto";
import t from "tap";
import type { Sql } from "../../../../core/database/client.ts";
import { WalletReads } from "../../../../core/money/ledger/credit.ts";

/** A database that replies once `replies` says so. `asked`: the accounts of each query. */
function heldDatabase() {
  const asked: string[][] = [];
  const replies: ((error?: Error) => void)[] = [];
  const query = (_statement: string, [ids]: [string]) => {
    const accountIds = ids.slice(1, -1).split(",");
    asked.push(accountIds);
    return new Promise((resolve, reject) => {
      replies.push((error) => {
        if (error) reject(error);
        else
          resolve(
            accountIds.map((accountId) => ({
              accountId,
              balanceMicroVnd: 7n,
              uncoveredMicroVnd: 0n,
            })),
          );
      });
    });
  };
  return { sql: { query } as unknown as Sql, asked, replies };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

t.test("wallets that are asked for while a query runs go together in the next one", async (t) => {
  const { sql, asked, replies } = heldDatabase();
  const reads = new WalletReads(sql);
  const ids = Array.from({ length: 500 }, () => randomUUID());
  const first = reads.read(ids[0] ?? "");
  await settled();
  const rest = ids.slice(1).map((id) => reads.read(id));
  const again = reads.read(ids[0] ?? "");
  await settled();
  t.strictSame(asked, [ids.slice(0, 1)], "none joins a query that has begun: it may miss a commit");
  replies[0]?.();
  t.equal((await first)?.accountId, ids[0]);
  await settled();
  t.strictSame(asked[1], [...ids.slice(1), ids[0]]);
  replies[1]?.();
  const found = await Promise.all([...rest, again]);
  t.strictSame(
    found.map((wallet) => wallet?.accountId),
    asked[1],
  );
  t.equal(asked.length, 2);
});

t.test(
  "a query that fails rejects its wallets alone, and what is no id is never asked for",
  async (t) => {
    const { sql, asked, replies } = heldDatabase();
    const reads = new WalletReads(sql);
    const failing = reads.read(randomUUID());
    await settled();
    const later = reads.read(randomUUID());
    t.equal(await reads.read("no id"), undefined);
    replies[0]?.(new Error("the connection was lost"));
    await t.rejects(failing, /the connection was lost/);
    await settled();
    replies[1]?.();
    t.equal((await later)?.balanceMicroVnd, 7n);
    t.equal(asked.length, 2);
  },
);
