import { randomBytes } from "node:crypto";
import type { Test } from "tap";
import { newId } from "../../../core/process/id.ts";
import { AT } from "../money/ledger/fixtures.ts";
import { newKey } from "./new-key.ts";
import type { AccountsUnderTest } from "./under-test.ts";

export function accountTests(t: Test, { accounts, ledger, rows }: AccountsUnderTest): void {
  t.test("a new account has an empty wallet", async (t) => {
    const id = newId(AT);
    t.equal(await accounts.create({ id, email: `New-${id}@example.com` }), "created");
    const account = await accounts.find(id);
    t.ok(account && account.createdAt instanceof Date);
    t.strictSame(
      { ...account, createdAt: null },
      { id, email: `New-${id}@example.com`, status: "active", discountBps: 0, createdAt: null },
    );
    t.strictSame(await ledger.wallet(id), {
      accountId: id,
      balanceMicroVnd: 0n,
      creditVersion: 0,
      creditedMicroVnd: 0n,
    });
  });

  t.test("an email address has one account, in upper or lower case", async (t) => {
    const email = `${newId(AT)}@example.com`;
    const ids = Array.from({ length: 5 }, () => newId(AT));
    const made = await Promise.all(
      ids.map((id, n) => accounts.create({ id, email: n % 2 ? email.toUpperCase() : email })),
    );
    t.equal(made.filter((result) => result === "created").length, 1);
    const found = await accounts.findByEmail(email.toUpperCase());
    t.equal(found?.id, ids[made.indexOf("created")]);
    t.strictSame(await accounts.findByEmail(email), found);
  });

  t.test("unknown and malformed ids find nothing", async (t) => {
    for (const id of [newId(AT), "", "no id at all", "'; drop table accounts"]) {
      t.equal(await accounts.find(id), undefined);
      t.equal(await accounts.findByEmail(id), undefined);
      t.equal(await accounts.setStatus(id, "suspended"), false);
      t.equal(await accounts.setDiscount(id, 1), false);
      t.equal(await accounts.setKeyLimit(id, 1), false);
      t.equal(await accounts.sealedKey(id, id), undefined);
      t.strictSame(await accounts.keys(id), []);
      t.strictSame(await accounts.latestKeys(id, 5), []);
      t.equal(await rows.revoke(id), undefined);
      t.equal(await rows.create(newKey(id)), "no_account");
      t.equal(await ledger.wallet(id), undefined);
      t.equal(await ledger.sum(id), undefined);
      t.strictSame(await ledger.usage({ accountId: id, limit: 5 }), []);
    }
    t.equal(await rows.byHash(randomBytes(32).toString("hex")), undefined);
  });

  t.test(
    "accounts are searched by address, id, key id and the beginning of a key, in pages",
    async (t) => {
      const name = `search-${newId(AT)}`;
      const ids = Array.from({ length: 3 }, () => newId(AT)).sort();
      for (const [n, id] of ids.entries()) {
        t.equal(await accounts.create({ id, email: `${name}-${n}@Example.com` }), "created");
      }
      const [first = "", second = "", third = ""] = ids;
      const prefix = `tg-${randomBytes(5).toString("hex").slice(0, 7)}`;
      const key = { ...newKey(second), prefix };
      t.equal(await rows.create(key), "created");
      const found = async (query: string, after?: string, limit = 10) =>
        (await accounts.search({ query, after, limit })).map(({ id }) => id);

      t.strictSame(await found(name.toUpperCase()), ids);
      t.strictSame(await found(name, undefined, 2), [first, second]);
      t.strictSame(await found(name, second, 2), [third]);
      t.strictSame(await found(third), [third]);
      t.strictSame(await found(key.id.toUpperCase()), [second]);
      t.strictSame(await found(`${prefix}-and-what-is-not-kept`), [second]);
      t.strictSame(await found("no such account"), []);
      t.equal((await accounts.search({ limit: 2 })).length, 2);
    },
  );
}
