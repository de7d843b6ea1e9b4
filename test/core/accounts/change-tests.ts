import assert from "node:assert/strict";
import type { Test } from "tap";
import { accountChanges } from "../../../core/accounts/key-changes.ts";
import { newId } from "../../../core/process/id.ts";
import { fundedAccount } from "../money/ledger/fixtures.ts";
import type { AccountsUnderTest } from "./under-test.ts";

const HOUR_MS = 3_600_000;

/** A cached key would stay valid for another half minute. */
export function changeTests(
  t: Test,
  { accounts, holdStore, keys, ledger }: AccountsUnderTest,
): void {
  async function cachedKey() {
    const accountId = await fundedAccount(ledger, 0n);
    const made = await keys.create(accountId, "laptop", 10);
    assert.ok(made.kind === "created");
    await keys.find(made.key);
    return { accountId, id: made.id, find: async () => keys.find(made.key) };
  }

  t.test("a discount applies to the next call, even with a cached key", async (t) => {
    const { accountId, find } = await cachedKey();
    t.equal(await accounts.setDiscount(accountId, 250), true);
    t.equal((await find())?.discountBps, 250);
    t.equal((await accounts.find(accountId))?.discountBps, 250);
  });

  t.test("a key's limit applies to the next call, even with a cached key", async (t) => {
    const { id, find } = await cachedKey();
    t.equal(await accounts.setKeyLimit(id, 7), true);
    t.equal((await find())?.requestsPerMinute, 7);
    t.equal(await accounts.setKeyLimit(id, null), true);
    t.equal((await find())?.requestsPerMinute, null);
  });

  t.test("a paused key gets no call and no hold until it is resumed", async (t) => {
    const { accountId, id, find } = await cachedKey();
    const request = { accountId, keyId: id, amountMicroVnd: 1, floorMicroVnd: 1 };
    const hold = (callId: string) => holdStore.hold({ callId, ...request }).kind;
    t.strictSame((await accounts.setKeyLimits(id, { paused: true }))?.limits, { paused: true });
    t.equal((await find())?.limits?.isPaused, true);
    t.equal(hold("one"), "revoked");
    t.ok(await accounts.setKeyLimits(id, { models: ["a"] }));
    t.equal(hold("two"), "revoked");
    t.equal(await accounts.setStatus(accountId, "suspended"), true);
    t.equal(await accounts.setStatus(accountId, "active"), true);
    t.equal(hold("three"), "revoked", "the account's is not the key's");
    t.strictSame((await accounts.setKeyLimits(id, { paused: null }))?.limits, { models: ["a"] });
    t.equal((await find())?.limits?.isPaused, false);
    t.not(hold("four"), "revoked");
    t.equal(await accounts.setStatus(accountId, "suspended"), true);
    t.ok(await accounts.setKeyLimits(id, { paused: true }));
    t.ok(await accounts.setKeyLimits(id, { paused: null }));
    t.equal(hold("five"), "revoked", "the key's is not the account's");
  });

  t.test("a revoked key takes no limits", async (t) => {
    const { id } = await cachedKey();
    await keys.revoke(id);
    t.equal(await accounts.setKeyLimits(id, { paused: null }), undefined);
    t.equal(await accounts.setKeyLimits("none", { paused: null }), undefined);
  });

  t.test("a suspended account gets no call and no hold until it is active again", async (t) => {
    const { accountId, id, find } = await cachedKey();
    const request = { accountId, keyId: id, amountMicroVnd: 1, floorMicroVnd: 1 };
    t.equal(await accounts.setStatus(accountId, "suspended"), true);
    t.equal((await find())?.accountStatus, "suspended");
    t.equal(holdStore.hold({ callId: "one", ...request }).kind, "revoked");
    t.equal(await accounts.setStatus(accountId, "active"), true);
    t.equal((await find())?.accountStatus, "active");
    t.not(holdStore.hold({ callId: "two", ...request }).kind, "revoked");
  });

  t.test("other processes find accounts that changed, or whose keys did", async (t) => {
    const { accountId: discounted } = await cachedKey();
    const { accountId: limited, id: limitedKey } = await cachedKey();
    const { accountId: revoked, id: revokedKey } = await cachedKey();
    const { accountId: unchanged } = await cachedKey();
    await accounts.setDiscount(discounted, 100);
    await accounts.setKeyLimits(limitedKey, { models: ["a"] });
    await keys.revoke(revokedKey);
    const changesOf = async (accountId: string) => {
      const found: string[] = [];
      for await (const changes of accountChanges(ledger.database, HOUR_MS)) {
        for (const each of changes) if (each.accountId === accountId) found.push(each.change);
      }
      return found;
    };
    t.equal((await changesOf(discounted)).length, 1);
    t.equal((await changesOf(limited)).length, 1);
    t.equal((await changesOf(revoked)).length, 1);
    t.strictSame(await changesOf(unchanged), []);
    const before = await changesOf(discounted);
    t.strictSame(await changesOf(discounted), before, "a change keeps its name");
    await accounts.setDiscount(discounted, 200);
    t.notSame(await changesOf(discounted), before, "another change has another one");
  });

  t.test("a change of a great many accounts is found whole, a thousand at a time", async (t) => {
    const made = Array.from({ length: 1_100 }, () => newId(Date.now()));
    await ledger.database.query(
      `insert into accounts (id, email) select id, id || '@example.com' from unnest($1::text::uuid[]) id`,
      [`{${made.join()}}`],
    );
    await ledger.database.query(
      "update accounts set discount_bps = 5 where id = any ($1::text::uuid[])",
      [`{${made.join()}}`],
    );
    await accounts.setDiscount(made[0] ?? "", 6);
    const found = new Set<string>();
    for await (const changes of accountChanges(ledger.database, HOUR_MS)) {
      t.ok(changes.length <= 1_000);
      for (const { accountId, change } of changes) {
        t.notOk(found.has(change));
        if (made.includes(accountId)) found.add(change);
      }
    }
    t.equal(found.size, made.length);
  });
}
