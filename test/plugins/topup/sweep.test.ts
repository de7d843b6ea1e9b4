import t from "tap";
import type { Movement } from "../../../core/money/outbox-entry.ts";

import { Crediting } from "../../../plugins/topup/crediting.ts";
import { deskOf } from "../../support/plugin-desk.ts";
import { until } from "../../support/until.ts";

/** A page of the sweep. */
const PAGE = 100;

/** A bank with `count` matched transfers, as the database returns them, and what a sweep does with them. */
function bank(count: number, credit: (movement: Movement) => Promise<{ kind: string }>) {
  const pages: bigint[] = [];
  const credited: string[] = [];
  const transfers = Array.from({ length: count }, (_, at) => ({
    id: `t${at}`,
    state: "matched" as const,
    reference: `transfer:t${at}`,
    sequence: BigInt(at + 1),
    accountId: "A",
    amountMicroVnd: 1n,
  }));
  const database = {
    async query(text: string, [after, limit]: [bigint, number] = [0n, 0]) {
      if (text.includes("count(*)")) return [{ count: 7 }];
      if (!text.includes("t.sequence > $1")) return [];
      pages.push(after);
      return transfers.filter(({ sequence }) => sequence > after).slice(0, limit);
    },
  };
  const wallets = {
    credit(movement: Movement) {
      credited.push(movement.reference);
      return credit(movement);
    },
  };
  const crediting = new Crediting(deskOf({ database, wallets: { current: wallets } }).services);
  return { crediting, pages, credited };
}

t.test("one sweep credits every matched transfer, however many pages they take", async (t) => {
  for (const count of [1, PAGE, PAGE + 1, 2 * PAGE + 1]) {
    const { crediting, pages, credited } = bank(count, async () => ({ kind: "credited" }));
    crediting.start();
    await until("all are credited", () => credited.length >= count);
    await crediting.stop();
    // A second sweep would begin at 0 again, and credit the first transfer again.
    t.equal(new Set(credited).size, credited.length, `${count} transfers, each once`);
    t.strictSame(pages.slice(0, 2), count < PAGE ? [0n] : [0n, BigInt(PAGE)]);
  }
});

t.test("a sweep counts the transfers that wait for an operator", async (t) => {
  const { crediting } = bank(0, async () => ({ kind: "credited" }));
  t.equal(crediting.unmatched, undefined);
  crediting.start();
  await until("they are counted", () => crediting.unmatched !== undefined);
  await crediting.stop();
  t.equal(crediting.unmatched?.count, 7);
});

t.test("a transfer that cannot be credited does not delay the others", async (t) => {
  const { crediting, credited } = bank(3, async ({ reference }) => {
    if (reference.endsWith("t0")) throw new Error("the ledger is down");
    return { kind: "credited" };
  });
  crediting.start();
  await until("the last is credited", () => credited.some((one) => one.endsWith("t2")));
  await crediting.stop();
  t.equal(credited.length, 3);
});
