import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { NewKey } from "../../../../core/contract/accounts.ts";
import { newId } from "../../../../core/process/id.ts";
import type { LedgerUnderTest } from "./conformance.ts";
import { AT, fundedAccount, holdUp } from "./fixtures.ts";

function newKey(accountId: string, activeKeysMax = 10): NewKey {
  const hash = randomBytes(32);
  return {
    id: newId(AT),
    accountId,
    name: "laptop",
    hash,
    prefix: "tg-ab12",
    activeKeysMax,
    sealed: null,
  };
}

export function accountTests(get: () => LedgerUnderTest): void {
  test("an account begins with an empty wallet", async () => {
    const { ledger } = get();
    const id = newId(AT);
    assert.equal(await ledger.createAccount({ id, email: `New-${id}@example.com` }), "created");
    const account = await ledger.account(id);
    assert.ok(account && account.createdAt instanceof Date);
    assert.deepEqual(
      { ...account, createdAt: null },
      { id, email: `New-${id}@example.com`, status: "active", discountBps: 0, createdAt: null },
    );
    assert.deepEqual(await ledger.wallet(id), {
      accountId: id,
      balanceMicroVnd: 0n,
      creditVersion: 0,
      creditedMicroVnd: 0n,
    });
    assert.ok((await ledger.accounts()).some((one) => one.id === id));
  });

  test("an address has one account, in any case of letters", async () => {
    const { ledger } = get();
    const email = `${newId(AT)}@example.com`;
    const ids = Array.from({ length: 5 }, () => newId(AT));
    const made = await Promise.all(
      ids.map((id, n) => ledger.createAccount({ id, email: n % 2 ? email.toUpperCase() : email })),
    );
    assert.equal(made.filter((result) => result === "created").length, 1);
  });

  test("what is not there is undefined, whatever is asked for", async () => {
    const { ledger } = get();
    for (const id of [newId(AT), "", "no id at all", "'; drop table accounts"]) {
      assert.equal(await ledger.account(id), undefined);
      assert.equal(await ledger.wallet(id), undefined);
      assert.equal(await ledger.revokeKey(id), undefined);
      assert.equal(await ledger.sum(id), undefined);
      assert.equal(await ledger.createKey(newKey(id)), "no_account");
      assert.deepEqual(await ledger.usage({ accountId: id, limit: 5 }), []);
    }
    assert.equal(await ledger.keyByHash(randomBytes(32)), undefined);
  });

  test("a key is found by its hash until long after it is revoked", async () => {
    const { ledger } = get();
    const key = newKey(await fundedAccount(ledger, 0n));
    assert.equal(await ledger.createKey(key), "created");
    const expected = {
      id: key.id,
      accountId: key.accountId,
      name: "laptop",
      hash: key.hash,
      status: "active",
      requestsPerMinute: null,
      accountStatus: "active",
      discountBps: 0,
      creditVersion: 0,
    };
    assert.deepEqual({ ...(await ledger.keyByHash(key.hash)) }, expected);
    const revoked = { ...expected, status: "revoked" };
    assert.deepEqual({ ...(await ledger.revokeKey(key.id)) }, revoked);
    assert.deepEqual({ ...(await ledger.revokeKey(key.id)) }, revoked);
    assert.deepEqual({ ...(await ledger.keyByHash(key.hash)) }, revoked);
  });

  test("of twenty keys at once three are made where three may be, and a revoked one makes room", async () => {
    const { ledger } = get();
    const accountId = await fundedAccount(ledger, 0n);
    const keys = Array.from({ length: 20 }, () => newKey(accountId, 3));
    const { released } = await holdUp(get(), "accounts", accountId);
    const made = await Promise.all(keys.map((key) => ledger.createKey(key)));
    await released;
    assert.equal(made.filter((result) => result === "created").length, 3);
    assert.equal(made.filter((result) => result === "too_many_keys").length, 17);
    await ledger.revokeKey(keys[made.indexOf("created")]!.id);
    assert.equal(await ledger.createKey(newKey(accountId, 3)), "created");
    assert.equal(await ledger.createKey(newKey(accountId, 3)), "too_many_keys");
  });
}
