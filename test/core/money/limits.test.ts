import assert from "node:assert/strict";
import t from "tap";
import type { LimitChange } from "../../../core/money/ledger.ts";
import type { Wallets } from "../../../core/money/wallet.ts";
import { posting, readable } from "../../support/posting.ts";
import { until } from "../../support/until.ts";
import { holdRequest, movement, withStores } from "./wallet-fixtures.ts";

const LIMIT = "key:K";
let references = 0;
const SHORT = { kind: "short", limit: LIMIT, availableMicroVnd: 100 } as const;

function within(callId: string, amountMicroVnd: number) {
  return { ...holdRequest(callId, amountMicroVnd), limits: [LIMIT] };
}

t.test("a limit is loaded with its wallet by the first hold", async (t) =>
  withStores(async ({ wallets, ledger }) => {
    await wallets.credit(movement(1_000n));
    ledger.setLimit("A", LIMIT, 500);
    t.equal((await wallets.hold(within("c1", 400))).kind, "held");
    t.strictSame(await wallets.hold(within("c2", 400)), SHORT);
    t.equal(ledger.calls.wallet, 1);
  }),
);

t.test("a committed limit that was not applied is loaded by the hold that names it", async (t) =>
  withStores(async ({ wallets, ledger }) => {
    await wallets.credit(movement(1_000n));
    await wallets.hold(holdRequest("c0", 0));
    ledger.setLimit("A", LIMIT, 500);
    t.equal((await wallets.hold(within("c1", 400))).kind, "held");
    t.strictSame(await wallets.hold(within("c2", 400)), SHORT);
  }),
);

t.test("a limit that the ledger does not have refuses the hold", async (t) =>
  withStores(async ({ wallets, holdStore }) => {
    await wallets.credit(movement(1_000n));
    const refused = await wallets.hold(within("c1", 1));
    t.ok(refused.kind === "unavailable" && /no limit key:K/.test(refused.reason));
    t.equal(holdStore.balances("A")?.heldMicroVnd, 0);
  }),
);

t.test("a limit that is set during the load of its wallet is not lost", async (t) =>
  withStores(async ({ wallets, ledger }) => {
    await wallets.credit(movement(1_000n));
    ledger.setLimit("A", LIMIT, 900);
    let release = () => {};
    const stored = new Promise<void>((resolve) => {
      release = resolve;
    });
    // The read returns only after the limit was lowered.
    ledger.after = () => stored;
    const first = wallets.hold(holdRequest("c0", 0));
    await new Promise(setImmediate);
    const lowered = wallets.changeLimit(change("set", 500n));
    release();
    t.equal((await lowered).kind, "changed");
    t.equal((await first).kind, "held");
    t.equal((await wallets.limit("A", LIMIT))?.availableMicroVnd, 500);
  }),
);

t.test("a change that was not applied is applied at the next start", async (t) =>
  withStores(async ({ wallets, ledger }) => {
    await wallets.credit(movement(1_000n));
    await wallets.changeLimit(change("set", 900n));
    await wallets.hold(within("c1", 400));
    ledger.setLimit("A", LIMIT, 500);
    await wallets.start();
    t.strictSame(await wallets.hold(within("c2", 400)), SHORT);
  }),
);

t.test("a change is applied once for its reference, to running calls too", async (t) =>
  withStores(async ({ wallets }) => {
    await wallets.credit(movement(1_000n));
    const raise = change("add", 300n);
    await wallets.changeLimit(change("set", 200n));
    await wallets.hold(within("c1", 200));
    t.strictSame([await applied(wallets, raise), await applied(wallets, raise)], [true, false]);
    t.equal(await left(wallets), "300 of 500, held 200");
    const other = { ...raise, amountMicroVnd: 301n };
    t.equal((await wallets.changeLimit(other)).kind, "reference_conflict");
  }),
);

t.test("a change that cannot be applied rejects, and is applied by a retry", async (t) =>
  withStores(async ({ wallets, holdStore }) => {
    await wallets.credit(movement(1_000n));
    await wallets.changeLimit(change("set", 900n));
    const set = holdStore.setLimit.bind(holdStore);
    let refusals = 2;
    holdStore.setLimit = (accountId, limit) => {
      refusals -= 1;
      if (refusals >= 0) throw new Error("away");
      return set(accountId, limit);
    };
    const lower = change("set", 500n);
    await t.rejects(wallets.changeLimit(lower), /away/);
    await until(
      "it is applied",
      async () => (await wallets.limit("A", LIMIT))?.availableMicroVnd === 500,
    );
    t.equal(await applied(wallets, lower), false);
  }),
);

t.test("what is left of a limit is known before its wallet is loaded", async (t) =>
  withStores(async ({ wallets, ledger }) => {
    ledger.setLimit("A", LIMIT, 500);
    t.equal(await left(wallets), "500 of 500, held 0");
    t.equal(await wallets.limit("A", "key:none"), undefined);
    t.equal(await wallets.limit("B", LIMIT), undefined);
  }),
);

t.test("a removed limit is in neither store, and its name cannot be used again", async (t) =>
  withStores(async ({ wallets, holdStore, ledger }) => {
    await wallets.credit(movement(1_000n));
    await wallets.changeLimit(change("set", 500n));
    await wallets.hold(within("c1", 100));
    t.equal(await wallets.removeLimit("A", LIMIT), true);
    // The hold store drops it only after the call that holds it has ended, and the removal is sent again.
    t.equal(holdStore.limit("A", LIMIT)?.heldMicroVnd, 100);
    await wallets.void("c1", "A");
    t.equal(await wallets.removeLimit("A", LIMIT), false);
    t.equal(await wallets.limit("A", LIMIT), undefined);
    t.equal((await wallets.hold(within("c2", 1))).kind, "unavailable");
    t.equal((await wallets.changeLimit(change("set", 500n))).kind, "removed");
    t.equal((await ledger.wallet("A"))?.limits, undefined);
  }),
);

t.test("reconcile shows what is left of every limit, and finds a drift of one µđ", async (t) =>
  withStores(async ({ wallets, holdStore, ledger }) => {
    await wallets.credit(movement(1_000n));
    await wallets.changeLimit(change("set", 500n));
    for (const callId of ["c1", "c2"]) await wallets.hold(within(callId, 100));
    const cost = { costMicroVnd: 30, limits: [LIMIT] };
    await wallets.post(posting({ callId: "c1", accountId: "A", ...cost }));
    const row = async () => {
      for await (const found of wallets.reconcile()) if (found.limit !== null) return found;
      return undefined;
    };
    const amounts = { availableMicroVnd: 370n, heldMicroVnd: 100n, uncommittedMicroVnd: 30n };
    const expected = { accountId: "A", limit: LIMIT, ledgerSumMicroVnd: 500n, ...amounts };
    t.strictSame(await row(), { ...expected, balanceMicroVnd: 500n, driftMicroVnd: 0n });
    const entries = readable(await holdStore.read(10, 0));
    await ledger.commit(entries);
    t.equal((await row())?.driftMicroVnd, 30n);
    holdStore.acknowledge(entries);
    t.equal((await row())?.driftMicroVnd, 0n);
    holdStore.setLimit("A", { name: LIMIT, version: 9, totalMicroVnd: 501, availableMicroVnd: 0 });
    t.equal((await row())?.driftMicroVnd, 1n);
  }),
);

t.test("a limit of an unknown account, or with an invalid name, is not set", async (t) =>
  withStores(async ({ wallets, ledger }) => {
    const set = change("set", 500n);
    t.equal((await wallets.changeLimit({ ...set, accountId: "B" })).kind, "no_account");
    for (const name of ["a|b", "wallet", "", "x".repeat(101)]) {
      await assert.rejects(wallets.changeLimit({ ...set, name }), RangeError, name);
      await assert.rejects(wallets.removeLimit("A", name), RangeError, name);
    }
    t.equal((await ledger.wallet("A"))?.limits, undefined);
  }),
);

function change(kind: LimitChange["kind"], amountMicroVnd: bigint): LimitChange {
  references += 1;
  const reference = `l${references}`;
  return { accountId: "A", name: LIMIT, kind, amountMicroVnd, reference, reason: null };
}

async function applied(wallets: Wallets, one: LimitChange): Promise<boolean> {
  const result = await wallets.changeLimit(one);
  return result.kind === "changed" && result.applied;
}

async function left(wallets: Wallets): Promise<string | undefined> {
  const limit = await wallets.limit("A", LIMIT);
  return (
    limit && `${limit.availableMicroVnd} of ${limit.totalMicroVnd}, held ${limit.heldMicroVnd}`
  );
}
