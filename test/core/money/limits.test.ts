import assert from "node:assert/strict";
import { test } from "node:test";
import { holdRequest, movement, withStores } from "./wallet-fixtures.ts";

const LIMIT = "key:K";
const SHORT = { kind: "short", limit: LIMIT, availableMicroVnd: 100 } as const;

function within(callId: string, amountMicroVnd: number) {
  return { ...holdRequest(callId, amountMicroVnd), limits: [LIMIT] };
}

test("a limit is loaded with its wallet by the first hold", () =>
  withStores(async ({ wallets, ledger }) => {
    await wallets.credit(movement(1_000n));
    ledger.setLimit("A", LIMIT, 500);
    assert.equal((await wallets.hold(within("c1", 400))).kind, "held");
    assert.deepEqual(await wallets.hold(within("c2", 400)), SHORT);
    assert.equal(ledger.calls.wallet, 1);
  }));

test("a limit that was stored, and never set in the hold store, is read by the hold that names it", () =>
  withStores(async ({ wallets, ledger }) => {
    await wallets.credit(movement(1_000n));
    await wallets.hold(holdRequest("c0", 0));
    ledger.setLimit("A", LIMIT, 500);
    assert.equal((await wallets.hold(within("c1", 400))).kind, "held");
    assert.deepEqual(await wallets.hold(within("c2", 400)), SHORT);
  }));

test("a limit that nothing has stored refuses the hold", () =>
  withStores(async ({ wallets, holdStore }) => {
    await wallets.credit(movement(1_000n));
    const refused = await wallets.hold(within("c1", 1));
    assert.ok(refused.kind === "unavailable" && /no limit key:K/.test(refused.reason));
    assert.equal(holdStore.balances("A")?.heldMicroVnd, 0);
  }));

test("a limit that is set while its wallet is being read is not lost", () =>
  withStores(async ({ wallets, ledger }) => {
    await wallets.credit(movement(1_000n));
    ledger.setLimit("A", LIMIT, 900);
    let release = () => {};
    const stored = new Promise<void>((resolve) => {
      release = resolve;
    });
    // The reading is taken, and comes back only after the limit was lowered.
    ledger.after = () => stored;
    const first = wallets.hold(holdRequest("c0", 0));
    await new Promise(setImmediate);
    const lowered = wallets.setLimit("A", ledger.setLimit("A", LIMIT, 500));
    release();
    assert.equal(await lowered, true);
    assert.equal((await first).kind, "held");
    assert.equal((await wallets.limit("A", LIMIT))?.availableMicroVnd, 500);
  }));

test("a change that the hold store has missed is applied at the next start", () =>
  withStores(async ({ wallets, ledger }) => {
    await wallets.credit(movement(1_000n));
    await wallets.setLimit("A", ledger.setLimit("A", LIMIT, 900));
    await wallets.hold(within("c1", 400));
    ledger.setLimit("A", LIMIT, 500);
    await wallets.start();
    assert.deepEqual(await wallets.hold(within("c2", 400)), SHORT);
  }));

test("a limit of an account that is not there is not set", () =>
  withStores(async ({ wallets, ledger }) => {
    assert.equal(await wallets.setLimit("B", ledger.setLimit("B", LIMIT, 1)), false);
  }));
