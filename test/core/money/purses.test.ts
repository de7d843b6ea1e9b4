import assert from "node:assert/strict";
import t from "tap";
import { pursesText } from "../../../core/money/purse.ts";
import type { Wallets } from "../../../core/money/wallet.ts";
import { posting, readable } from "../../support/posting.ts";
import { holdRequest, movement, withStores } from "./wallet-fixtures.ts";

const PURSE = "key:K:2026-11";
const SHORT = { kind: "short", purse: PURSE, availableMicroVnd: 100 } as const;

function within(callId: string, amountMicroVnd: number, limitMicroVnd = 500) {
  return { ...holdRequest(callId, amountMicroVnd), purses: [{ name: PURSE, limitMicroVnd }] };
}

function call(callId: string, costMicroVnd: number) {
  return posting({ callId, accountId: "A", costMicroVnd, purses: [PURSE] });
}

t.test("purses are written with their limits, each after a bar", async (t) => {
  const list = [
    { name: "key:K:2026-11", limitMicroVnd: 500 },
    { name: "key:K:total", limitMicroVnd: 0 },
  ];
  t.equal(pursesText(list), "|key:K:2026-11=500|key:K:total=0");
  t.equal(pursesText(list), "|key:K:2026-11=500|key:K:total=0");
  t.equal(pursesText([]), "");
});

t.test("a purse is loaded with its wallet by the first hold, and needs no other step", async (t) =>
  withStores(async ({ wallets, ledger }) => {
    await wallets.credit(movement(1_000n));
    t.equal((await wallets.hold(within("c1", 400))).kind, "held");
    t.strictSame(await wallets.hold(within("c2", 400)), SHORT);
    t.equal(ledger.calls.wallet, 1);
  }),
);

t.test(
  "a purse of a loaded wallet is read from the ledger, with what is in quarantine",
  async (t) =>
    withStores(async ({ wallets, holdStore, ledger }) => {
      await wallets.credit(movement(1_000n));
      await wallets.hold(within("c1", 200));
      await wallets.hold(within("c2", 200));
      await wallets.post(call("c1", 250));
      await wallets.post(call("c2", 50));
      const [first, second] = readable(await holdStore.read(10, 0));
      assert.ok(first && second);
      await ledger.commit([first]);
      await ledger.quarantine(second);
      holdStore.acknowledge([first, second]);
      t.equal(holdStore.forgetWallets(), true);
      t.strictSame(await spent(wallets), { spentMicroVnd: 300, heldMicroVnd: 0 }, "not loaded");
      await wallets.hold(holdRequest("c3", 0));
      t.strictSame(await wallets.hold(within("c4", 400)), { ...SHORT, availableMicroVnd: 200 });
      t.strictSame(await spent(wallets), { spentMicroVnd: 300, heldMicroVnd: 0 }, "loaded");
    }),
);

t.test("what is spent of a purse includes what is not committed, and not what is held", async (t) =>
  withStores(async ({ wallets }) => {
    await wallets.credit(movement(1_000n));
    t.strictSame(await spent(wallets), { spentMicroVnd: 0, heldMicroVnd: 0 });
    for (const callId of ["c1", "c2"]) await wallets.hold(within(callId, 100));
    await wallets.post(call("c1", 30));
    t.strictSame(await spent(wallets), { spentMicroVnd: 30, heldMicroVnd: 100 });
  }),
);

t.test("a post without a hold waits until its purse is loaded", async (t) =>
  withStores(async ({ wallets, holdStore, ledger }) => {
    await wallets.credit(movement(1_000n));
    await wallets.hold(holdRequest("c1", 0));
    t.throws(() => holdStore.post(call("c2", 30)), /not loaded/);
    t.match(await wallets.post(posting({ callId: "c3", accountId: "A", costMicroVnd: 0 })), {});
    await holdStore.load("A", () => ledger.purse("A", PURSE), PURSE);
    t.equal(holdStore.post(call("c2", 30)).chargedMicroVnd, 30);
    t.strictSame(await spent(wallets), { spentMicroVnd: 30, heldMicroVnd: 0 });
  }),
);

t.test("reconcile shows every purse, and finds a drift of one µđ", async (t) =>
  withStores(async ({ wallets, holdStore, ledger }) => {
    await wallets.credit(movement(1_000n));
    for (const callId of ["c1", "c2", "c3"]) await wallets.hold(within(callId, 100));
    await wallets.post(call("c1", 30));
    const row = async () => {
      for await (const found of wallets.reconcile()) if (found.purse !== null) return found;
      return undefined;
    };
    t.equal(await row(), undefined, "the ledger has no charge yet, and nothing drifts");
    const first = readable(await holdStore.read(10, 0));
    await ledger.commit(first);
    t.equal((await row())?.driftMicroVnd, 30n);
    holdStore.acknowledge(first);
    await wallets.post(call("c2", 7));
    const amounts = { availableMicroVnd: -137n, heldMicroVnd: 100n, uncommittedMicroVnd: 7n };
    const expected = { accountId: "A", purse: PURSE, ledgerSumMicroVnd: -30n, ...amounts };
    t.strictSame(await row(), { ...expected, balanceMicroVnd: -30n, driftMicroVnd: 0n });
    // A charge that the hold store has, and no book of the ledger.
    holdStore.acknowledge(readable(await holdStore.read(10, 0)));
    t.equal((await row())?.driftMicroVnd, -7n);
  }),
);

t.test("reconcile finds a purse that only the hold store has", async (t) =>
  withStores(async ({ wallets, holdStore }) => {
    await wallets.credit(movement(1_000n));
    await wallets.hold(within("c1", 100));
    await wallets.post(call("c1", 30));
    holdStore.acknowledge(readable(await holdStore.read(10, 0)));
    const drifting: (string | null)[] = [];
    for await (const { purse, driftMicroVnd } of wallets.reconcile())
      if (driftMicroVnd === -30n) drifting.push(purse);
    t.strictSame(drifting, [null, PURSE]);
  }),
);

function spent(wallets: Wallets) {
  return wallets.purse("A", PURSE);
}
