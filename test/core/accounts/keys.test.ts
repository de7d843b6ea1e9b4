import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { KEY_PREFIX, type KeyRecord, type NewKey } from "../../../core/accounts/account.ts";
import type { KeyRows } from "../../../core/accounts/key-rows.ts";
import { CachedKeys } from "../../../core/accounts/keys.ts";
import { createEmbeddedHoldStore } from "../../../core/money/embedded/store.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { MemoryHistory } from "../../support/commit-counts.ts";
import { recordedLog } from "../../support/log.ts";
import { NO_PLUGINS } from "./no-plugins.ts";

const MINUTE_MS = 60_000;

/** Keys in memory that count reads; reads can fail or be slow. */
class MemoryKeyRows implements KeyRows {
  readonly known = new Map<string, KeyRecord>();
  asked = 0;
  isDown = false;
  hasEarlierKeys = false;
  /** A read waits for this after it has taken its result, as if the reply were delayed. */
  answers: Promise<void> = Promise.resolve();

  add(secret: string, changes: Partial<KeyRecord> = {}): KeyRecord {
    const hash = createHash("sha256").update(secret).digest("hex");
    const key: KeyRecord = {
      id: `id of ${secret}`,
      accountId: "account",
      memberId: null,
      name: "test",
      hash,
      status: "active",
      requestsPerMinute: null,
      limits: undefined,
      accountStatus: "active",
      discountBps: 0,
      creditVersion: 0,
      ...changes,
    };
    this.known.set(hash, key);
    return key;
  }

  async byHash(hash: string): Promise<KeyRecord | undefined> {
    this.asked++;
    if (this.isDown) throw new Error("the database is down");
    const key = this.known.get(hash);
    await this.answers;
    return key;
  }

  async macSecret(): Promise<Buffer> {
    return Buffer.alloc(32, 7);
  }

  async revoke(keyId: string): Promise<KeyRecord | undefined> {
    for (const [name, key] of this.known) {
      if (key.id !== keyId) continue;
      const revoked: KeyRecord = { ...key, status: "revoked" };
      this.known.set(name, revoked);
      return revoked;
    }
    return undefined;
  }

  async create(key: NewKey): Promise<"created"> {
    this.known.set(key.hash, {
      ...this.add("template"),
      ...key,
      memberId: key.memberId ?? null,
      limits: undefined,
    });
    return "created";
  }
}

function setUp(cacheBytesMax = 64_000_000) {
  const clock = { ms: 1_000_000, now: () => clock.ms, monotonic: () => clock.ms };
  const rows = new MemoryKeyRows();
  const { log, lines } = recordedLog();
  const holdStore = createEmbeddedHoldStore({
    journal: { folder: join(tmpdir(), "never-opened"), bytesMax: 1, sync: false, log },
    outboxEntriesMax: 1,
    history: new MemoryHistory(),
  });
  return {
    clock,
    rows,
    holdStore,
    lines,
    keys: new CachedKeys({ rows, holdStore, clock, log, slots: NO_PLUGINS, cacheBytesMax }),
  };
}

t.test("keys", async (t) => {
  t.test("that are guessed cost no read, and the real ones one", async (t) => {
    const { keys, rows } = setUp();
    await keys.start();
    const made = await keys.create("account", "laptop", 10);
    assert.ok(made.kind === "created");
    const { key } = made;
    const guesses = ["", "good", "sk-ant-1", key.slice(0, -1), `${key}A`, key.slice(0, 43), "tg-"];
    const digit = (at: number) => (key[at] === "A" ? "B" : "A");
    for (let at = 3; at < key.length; at += 1) {
      guesses.push(key.slice(0, at) + digit(at) + key.slice(at + 1));
    }
    for (const guess of guesses) t.equal(keys.find(guess), undefined, guess);
    t.equal(rows.asked, 0);
    t.equal((await keys.find(key))?.id, made.id);
    t.equal(rows.asked, 1);
  });

  t.test("survive a flood of guesses while the ledger is down", async (t) => {
    const { keys, rows } = setUp(2_000);
    rows.add("good");
    await keys.find("good");
    rows.isDown = true;
    for (let n = 0; n < 1_000; n += 1) await t.rejects(async () => keys.find(`guess ${n}`), /down/);
    t.ok(!(keys.find("good") instanceof Promise));
  });

  t.test("are evicted by their size, the least recently used first", async (t) => {
    const { keys, rows } = setUp(10_000);
    for (let n = 0; n < 100; n += 1) {
      rows.add(`key ${n}`, { accountId: `account ${n}` });
      await keys.find(`key ${n}`);
      t.ok(!(keys.find("key 0") instanceof Promise), "the key in use");
    }
    const isCached = (n: number) => !(keys.find(`key ${n}`) instanceof Promise);
    t.ok(isCached(99) && isCached(90));
    t.ok(!isCached(1));
  });

  t.test("are read from the ledger once, and then returned synchronously", async (t) => {
    const { keys, rows } = setUp();
    const key = rows.add("secret");
    const first = keys.find("secret");
    t.ok(first instanceof Promise);
    t.equal(await first, key);
    t.equal(keys.find("secret"), key);
    t.equal(rows.asked, 1);
  });

  t.test("are read once for many concurrent calls", async (t) => {
    const { keys, rows } = setUp();
    const key = rows.add("secret");
    const found = await Promise.all(Array.from({ length: 100 }, () => keys.find("secret")));
    t.strictSame(new Set(found), new Set([key]));
    t.equal(rows.asked, 1);
  });

  t.test("older than half a minute are refreshed in the background", async (t) => {
    const { keys, rows, clock } = setUp();
    const old = rows.add("secret");
    await keys.find("secret");
    const fresh = rows.add("secret", { discountBps: 100 });
    clock.ms += MINUTE_MS / 2;
    t.equal(keys.find("secret"), old, "the call does not wait");
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(keys.find("secret"), fresh);
    t.equal(rows.asked, 2);
  });

  t.test("that do not exist are asked for again, and dropped if they are gone", async (t) => {
    const { keys, rows, clock } = setUp();
    t.equal(await keys.find("gone"), undefined);
    const made = rows.add("gone");
    t.equal(await keys.find("gone"), made);
    rows.known.clear();
    clock.ms += MINUTE_MS / 2;
    t.equal(keys.find("gone"), made);
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(await keys.find("gone"), undefined);
  });

  t.test("stay valid for an hour while the ledger is down, and no longer", async (t) => {
    const { keys, rows, clock, lines } = setUp();
    const key = rows.add("secret");
    await keys.find("secret");
    rows.isDown = true;
    for (let minutes = 1; minutes < 60; minutes++) {
      clock.ms += MINUTE_MS;
      t.equal(keys.find("secret"), key, `after ${minutes} minutes`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.ok(lines.length > 0 && lines.length <= 60, `${lines.length} lines in the log`);
    clock.ms += MINUTE_MS;
    await t.rejects(async () => keys.find("secret"), /down/, "after an hour");
    t.ok(!JSON.stringify(lines).includes("secret"));
  });

  t.test(
    "not yet cached are refused while the ledger is down, and found once it is back",
    async (t) => {
      const { keys, rows } = setUp();
      const key = rows.add("secret");
      rows.isDown = true;
      await t.rejects(async () => keys.find("secret"), /down/);
      rows.isDown = false;
      t.equal(await keys.find("secret"), key);
    },
  );

  t.test("read after a credit delay calls once, however long the ledger takes", async (t) => {
    const { keys, rows } = setUp();
    rows.add("good");
    const before = await keys.find("good");
    assert.ok(before);
    rows.add("good", { creditVersion: 1 });
    let reply = () => {};
    rows.answers = new Promise((resolve) => {
      reply = resolve;
    });
    const first = keys.renew(before);
    t.equal(await first, before, "after 5 s");
    const beganMs = performance.now();
    t.equal(await keys.renew(before), before);
    t.ok(performance.now() - beganMs < 1_000, "at once, since the first call has waited");
    t.equal(rows.asked, 2, "one read serves all calls");
    reply();
    await new Promise((resolve) => setImmediate(resolve));
    t.equal((await keys.renew(before)).creditVersion, 1, "a later reading is awaited again");

    rows.isDown = true;
    t.equal(await keys.renew(before), before);
  });

  t.test("are refused as soon as they are revoked", async (t) => {
    const { keys, rows, holdStore } = setUp();
    const { id } = rows.add("secret");
    await keys.find("secret");
    t.equal(await keys.revoke(id), true);
    const found = await keys.find("secret");
    t.equal(found?.status, "revoked");
    const hold = {
      callId: "c",
      accountId: "account",
      keyId: id,
      amountMicroVnd: 1,
      floorMicroVnd: 1,
    };
    t.equal(holdStore.hold(hold).kind, "revoked", "calls already admitted get no hold");
  });

  t.test("are revoked together, each even if the hold store fails for another", async (t) => {
    const { keys, rows, holdStore } = setUp();
    const ids = ["one", "two", "three"].map((secret) => rows.add(secret).id);
    const tried: string[] = [];
    const revoke = async (keyId: string) => {
      tried.push(keyId);
      if (keyId === ids[0]) throw new Error("the hold store is silent");
    };
    Object.assign(holdStore, { revoke });
    await t.rejects(keys.revokeAll(ids), { message: "the hold store is silent" });
    t.strictSame(tried, ids);
    for (const secret of ["one", "two", "three"])
      t.equal((await keys.find(secret))?.status, "revoked");
    await keys.revokeAll(ids.slice(1));
    await keys.revokeAll([]);
  });

  t.test("revoked during a read are not restored by its result", async (t) => {
    const { keys, rows, clock } = setUp();
    const { id } = rows.add("secret");
    await keys.find("secret");
    let arrive: () => void = () => {};
    rows.answers = new Promise((resolve) => {
      arrive = resolve;
    });
    clock.ms += MINUTE_MS / 2;
    // This read saw the active key, and its result arrives after the revocation.
    keys.find("secret");
    rows.answers = Promise.resolve();
    await keys.revoke(id);
    const asked = keys.find("secret");
    arrive();
    t.equal((await asked)?.status, "revoked");
    await new Promise((resolve) => setImmediate(resolve));
    t.equal((await keys.find("secret"))?.status, "revoked");
  });

  t.test("that do not exist cannot be revoked", async (t) => {
    t.equal(await setUp().keys.revoke("none"), false);
  });

  t.test("of an account are evicted when the account changes", async (t) => {
    const { keys, rows } = setUp();
    rows.add("one");
    rows.add("other", { accountId: "other account" });
    await keys.find("one");
    await keys.find("other");
    rows.add("one", { accountStatus: "suspended" });
    keys.forgetAccount("account");
    t.equal((await keys.find("one"))?.accountStatus, "suspended");
    t.equal(rows.asked, 3);
  });

  t.test("of an account are evicted without a look at those of other accounts", async (t) => {
    const { keys, rows } = setUp();
    let looks = 0;
    for (let n = 0; n < 1_000; n += 1) {
      const key = rows.add(`key ${n}`);
      const get = () => {
        looks += 1;
        return `account ${n >> 1}`;
      };
      Object.defineProperty(key, "accountId", { get });
      await keys.find(`key ${n}`);
    }
    looks = 0;
    keys.forgetAccount("account 7");
    keys.forgetAccount("account without keys");
    t.ok(looks <= 2, `${looks} records were looked at`);
    rows.asked = 0;
    for (let n = 0; n < 1_000; n += 1) await keys.find(`key ${n}`);
    t.equal(rows.asked, 2, "only its two keys are read again");
  });

  t.test("of an account that changes while they are read are read again", async (t) => {
    const { keys, rows } = setUp();
    rows.add("secret");
    let arrive: () => void = () => {};
    rows.answers = new Promise((resolve) => {
      arrive = resolve;
    });
    const found = keys.find("secret");
    rows.answers = Promise.resolve();
    rows.add("secret", { accountStatus: "suspended" });
    keys.forgetAccount("another account");
    keys.forgetAccount("account");
    arrive();
    t.equal((await found)?.accountStatus, "suspended");
    t.equal((await keys.find("secret"))?.accountStatus, "suspended");
    t.equal(rows.asked, 2);
  });

  t.test("of a member serve no call while nothing knows his limits", async (t) => {
    const { keys, rows, clock } = setUp();
    rows.add("secret", { memberId: "M" });
    const found = await keys.find("secret");
    const caller = { clientAddress: () => "10.0.0.1" };
    t.match(found?.limits?.refusal(clock.now(), caller), { code: "member_paused" });
  });

  t.test("take at most 700 bytes each", async (t) => {
    const script = join(packageRoot, "dist/test/core/accounts/key-memory-child.js");
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ["--expose-gc", script]);
    const { measured, accounted } = JSON.parse(stdout);
    t.ok(measured > 0 && measured <= 700, `${measured} bytes a key`);
    t.ok(Math.abs(accounted - measured) < 150, `${accounted} bytes are accounted for each`);
  });

  t.test("are random, shown once, and stored as a hash", async (t) => {
    const { keys, rows } = setUp();
    const made = await keys.create("account", "laptop", 10);
    assert.ok(made.kind === "created");
    t.ok(made.key.startsWith(KEY_PREFIX));
    t.ok(made.key.length > 40);
    t.equal((await keys.find(made.key))?.id, made.id);
    t.ok(!JSON.stringify([...rows.known]).includes(made.key));
  });
});
