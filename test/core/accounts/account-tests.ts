import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { newId } from "../../../core/process/id.ts";
import { AT } from "../money/ledger/fixtures.ts";
import type { AccountsUnderTest } from "./conformance.ts";
import { newKey } from "./new-key.ts";

export function accountTests(get: () => AccountsUnderTest): void {
  test("an account begins with an empty wallet", async () => {
    const { accounts, ledger } = get();
    const id = newId(AT);
    assert.equal(await accounts.create({ id, email: `New-${id}@example.com` }), "created");
    const account = await accounts.find(id);
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
  });

  test("an address has one account, in any case of letters", async () => {
    const { accounts } = get();
    const email = `${newId(AT)}@example.com`;
    const ids = Array.from({ length: 5 }, () => newId(AT));
    const made = await Promise.all(
      ids.map((id, n) => accounts.create({ id, email: n % 2 ? email.toUpperCase() : email })),
    );
    assert.equal(made.filter((result) => result === "created").length, 1);
    const found = await accounts.findByEmail(email.toUpperCase());
    assert.equal(found?.id, ids[made.indexOf("created")]);
    assert.deepEqual(await accounts.findByEmail(email), found);
  });

  test("what is not there is not found, whatever is asked for", async () => {
    const { accounts, ledger, rows } = get();
    for (const id of [newId(AT), "", "no id at all", "'; drop table accounts"]) {
      assert.equal(await accounts.find(id), undefined);
      assert.equal(await accounts.findByEmail(id), undefined);
      assert.equal(await accounts.setStatus(id, "suspended"), false);
      assert.equal(await accounts.setDiscount(id, 1), false);
      assert.equal(await accounts.setKeyLimit(id, 1), false);
      assert.equal(await accounts.sealedKey(id, id), undefined);
      assert.deepEqual(await accounts.keys(id), []);
      assert.deepEqual(await accounts.latestKeys(id, 5), []);
      assert.equal(await rows.revoke(id), undefined);
      assert.equal(await rows.create(newKey(id)), "no_account");
      assert.equal(await ledger.wallet(id), undefined);
      assert.equal(await ledger.sum(id), undefined);
      assert.deepEqual(await ledger.usage({ accountId: id, limit: 5 }), []);
    }
    assert.equal(await rows.byHash(randomBytes(32)), undefined);
  });

  test("accounts are searched by address, id, key id and the beginning of a key, in pages", async () => {
    const { accounts, rows } = get();
    const name = `search-${newId(AT)}`;
    const ids = Array.from({ length: 3 }, () => newId(AT)).sort();
    for (const [n, id] of ids.entries()) {
      assert.equal(await accounts.create({ id, email: `${name}-${n}@Example.com` }), "created");
    }
    const [first = "", second = "", third = ""] = ids;
    const prefix = `tg-${randomBytes(5).toString("hex").slice(0, 7)}`;
    const key = { ...newKey(second), prefix };
    assert.equal(await rows.create(key), "created");
    const found = async (query: string, after?: string, limit = 10) =>
      (await accounts.search({ query, after, limit })).map(({ id }) => id);

    assert.deepEqual(await found(name.toUpperCase()), ids);
    assert.deepEqual(await found(name, undefined, 2), [first, second]);
    assert.deepEqual(await found(name, second, 2), [third]);
    assert.deepEqual(await found(third), [third]);
    assert.deepEqual(await found(key.id.toUpperCase()), [second]);
    assert.deepEqual(await found(`${prefix}-and-what-is-not-kept`), [second]);
    assert.deepEqual(await found("nobody has this"), []);
    assert.equal((await accounts.search({ limit: 2 })).length, 2);
  });
}
