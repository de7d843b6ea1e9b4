import assert from "node:assert/strict";
import { test } from "node:test";
import { changedAccounts } from "../../../core/accounts/account-rows.ts";
import { fundedAccount } from "../money/ledger/fixtures.ts";
import type { AccountsUnderTest } from "./conformance.ts";

const HOUR_MS = 3_600_000;

/** A cached key would be good for another half minute. */
export function changeTests(get: () => AccountsUnderTest): void {
  async function cachedKey() {
    const { keys, ledger } = get();
    const accountId = await fundedAccount(ledger, 0n);
    const made = await keys.create(accountId, "laptop", 10);
    assert.ok(made.kind === "created");
    await keys.find(made.key);
    return { accountId, id: made.id, find: async () => keys.find(made.key) };
  }

  test("a discount is in force for the next call, though the key was cached", async () => {
    const { accountId, find } = await cachedKey();
    assert.equal(await get().accounts.setDiscount(accountId, 250), true);
    assert.equal((await find())?.discountBps, 250);
    assert.equal((await get().accounts.find(accountId))?.discountBps, 250);
  });

  test("a key's limit is in force for the next call, though the key was cached", async () => {
    const { id, find } = await cachedKey();
    assert.equal(await get().accounts.setKeyLimit(id, 7), true);
    assert.equal((await find())?.requestsPerMinute, 7);
    assert.equal(await get().accounts.setKeyLimit(id, null), true);
    assert.equal((await find())?.requestsPerMinute, null);
  });

  test("a suspended account has no good key, and no hold, until it is active again", async () => {
    const { accounts, holdStore } = get();
    const { accountId, id, find } = await cachedKey();
    const request = { accountId, keyId: id, amountMicroVnd: 1, floorMicroVnd: 1 };
    assert.equal(await accounts.setStatus(accountId, "suspended"), true);
    assert.equal((await find())?.accountStatus, "suspended");
    assert.equal(holdStore.hold({ callId: "one", ...request }).kind, "revoked");
    assert.equal(await accounts.setStatus(accountId, "active"), true);
    assert.equal((await find())?.accountStatus, "active");
    assert.notEqual(holdStore.hold({ callId: "two", ...request }).kind, "revoked");
  });

  test("other processes find the accounts that changed, or a key of which did", async () => {
    const { accounts, keys, ledger } = get();
    const { accountId: discounted } = await cachedKey();
    const { accountId: limited, id: limitedKey } = await cachedKey();
    const { accountId: revoked, id: revokedKey } = await cachedKey();
    const { accountId: unchanged } = await cachedKey();
    await accounts.setDiscount(discounted, 100);
    await accounts.setKeyLimit(limitedKey, 1);
    await keys.revoke(revokedKey);
    const changed = await changedAccounts(ledger.database, HOUR_MS);
    for (const id of [discounted, limited, revoked]) assert.ok(changed.includes(id));
    assert.ok(!changed.includes(unchanged));
  });
}
