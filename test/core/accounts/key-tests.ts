import type { Test } from "tap";
import { newId } from "../../../core/process/id.ts";
import { AT, fundedAccount, holdUp } from "../money/ledger/fixtures.ts";
import { newKey } from "./new-key.ts";
import type { AccountsUnderTest } from "./under-test.ts";

export function keyTests(t: Test, { accounts, ledger, rows, sql }: AccountsUnderTest): void {
  t.test("a key is still found by its hash after it is revoked", async (t) => {
    const key = newKey(await fundedAccount(ledger, 0n));
    t.equal(await rows.create(key), "created");
    const expected = {
      id: key.id,
      accountId: key.accountId,
      memberId: null,
      name: "laptop",
      hash: key.hash,
      status: "active",
      requestsPerMinute: null,
      limits: undefined,
      accountStatus: "active",
      discountBps: 0,
      creditVersion: 0,
    };
    t.strictSame({ ...(await rows.byHash(key.hash)) }, expected);
    const revoked = { ...expected, status: "revoked" };
    t.strictSame({ ...(await rows.revoke(key.id)) }, revoked);
    t.strictSame({ ...(await rows.revoke(key.id)) }, revoked);
    t.strictSame({ ...(await rows.byHash(key.hash)) }, revoked);
  });

  t.test(
    "three of twenty concurrent keys are created if the limit is three; a revoked one makes room",
    async (t) => {
      const accountId = await fundedAccount(ledger, 0n);
      const keys = Array.from({ length: 20 }, () => newKey(accountId, 3));
      const { released } = await holdUp(sql, "accounts", accountId);
      const made = await Promise.all(keys.map((key) => rows.create(key)));
      await released;
      t.equal(made.filter((result) => result === "created").length, 3);
      t.equal(made.filter((result) => result === "too_many_keys").length, 17);
      await rows.revoke(keys[made.indexOf("created")]!.id);
      t.equal(await rows.create(newKey(accountId, 3)), "created");
      t.equal(await rows.create(newKey(accountId, 3)), "too_many_keys");
    },
  );

  t.test(
    "keys are listed oldest first, or active ones first and the latest revoked ones",
    async (t) => {
      const accountId = await fundedAccount(ledger, 0n);
      const ids: string[] = [];
      for (let made = 0; made < 5; made += 1) {
        const key = newKey(accountId);
        t.equal(await rows.create(key), "created");
        ids.push(key.id);
      }
      const [a = "", b = "", c = "", d = "", e = ""] = ids;
      for (const id of [d, b, c]) await rows.revoke(id);
      const all = await accounts.keys(accountId);
      t.strictSame(
        all.map(({ id, status }) => [id, status]),
        [
          [a, "active"],
          [b, "revoked"],
          [c, "revoked"],
          [d, "revoked"],
          [e, "active"],
        ],
      );
      const latest = await accounts.latestKeys(accountId, 2);
      t.strictSame(
        latest.map(({ id }) => id),
        [e, a, c, b],
      );
      const { createdAt, ...shown } = latest[0]!;
      t.ok(createdAt instanceof Date && latest[2]?.revokedAt instanceof Date);
      t.strictSame(shown, {
        id: e,
        accountId,
        memberId: null,
        name: "laptop",
        prefix: "tg-ab12",
        status: "active",
        requestsPerMinute: null,
        limits: {},
        revokedAt: null,
        isSealed: false,
      });
    },
  );

  t.test("all gateways of a ledger have one secret for MACs", async (t) => {
    const secret = await rows.macSecret();
    t.equal(secret.length, 32);
    t.not(new Set(secret).size, 1);
    t.strictSame(await rows.macSecret(), secret);
  });

  t.test("a sealed key is read by its own account only, and resealed once", async (t) => {
    const [accountId, other] = [await fundedAccount(ledger, 0n), await fundedAccount(ledger, 0n)];
    const old = `old-${newId(AT)}`;
    const sealed = { sealed: Buffer.from("by the old one"), sealedBy: old };
    const [key, unsealed] = [{ ...newKey(accountId), sealed }, newKey(accountId)];
    t.equal(await rows.create(key), "created");
    t.equal(await rows.create(unsealed), "created");
    const record = { keyId: key.id, accountId, ...sealed };
    t.strictSame(await accounts.sealedKey(accountId, key.id), record);
    t.equal(await accounts.sealedKey(accountId, unsealed.id), "unsealed");
    t.equal(await accounts.sealedKey(other, key.id), undefined);

    const byOld = async (newest: string) =>
      (await accounts.keysSealedByOthers(newest, undefined)).filter(
        ({ sealedBy }) => sealedBy === old,
      );
    t.strictSame(await byOld(old), []);
    t.strictSame(
      (await byOld("new")).map((found) => ({ ...found })),
      [record],
    );
    t.strictSame(await accounts.keysSealedByOthers("new", key.id), []);
    const next = { sealed: Buffer.from("by the new one"), sealedBy: "new" };
    t.equal(await accounts.resealKey(key.id, old, next), true);
    t.equal(await accounts.resealKey(key.id, old, next), false);
    t.strictSame(await accounts.sealedKey(accountId, key.id), { ...record, ...next });
  });
}
