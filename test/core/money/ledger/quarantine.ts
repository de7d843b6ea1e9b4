import assert from "node:assert/strict";
import type { Test } from "tap";
import { decodeEntry } from "../../../../core/money/entry.ts";
import { EntryRefused, EntryUnreadable } from "../../../../core/money/ledger.ts";
import { isReadable } from "../../../../core/money/outbox-entry.ts";
import { OWN_LOCKS, OWN_STATEMENTS } from "../../../support/postgres.ts";
import { until } from "../../../support/until.ts";
import {
  agreedBalance,
  balance,
  charge,
  fundedAccount,
  type LedgerUnderTest,
  topUp,
} from "./fixtures.ts";

/** How many statements on this database wait for a lock. */
const WAITING = `select count(*)::integer as waiting from ${OWN_STATEMENTS}
  where wait_event_type = 'Lock'`;

const LOCKED = `select from ${OWN_LOCKS} where relation = 'ledger_writers'::regclass and mode = 'ShareLock' and granted`;

export function quarantineTests(t: Test, { ledger, sql }: LedgerUnderTest): void {
  t.test("a refused call is kept in quarantine, once", async (t) => {
    const before = await ledger.quarantined();
    const entry = charge("nobody", 1, { mappedFrom: "a\0b\ud800" });
    await ledger.quarantine(entry, "no such account");
    await ledger.quarantine(entry, "no such account");
    t.equal(await ledger.quarantined(), before + 1);
    const list = await ledger.quarantineList(1_000);
    const found = list.find((call) => call.entry.posting?.callId === entry.posting.callId);
    t.equal(found?.reason, "no such account");
    // The client's model name, as far as Postgres can store it.
    t.strictSame(found?.entry.posting, { ...entry.posting, mappedFrom: "ab\ufffd" });
    t.equal(await ledger.hasCall(entry.posting), true);
    await assert.rejects(ledger.commitQuarantined(entry.posting.callId), EntryRefused);
    t.equal(await ledger.quarantined(), before + 1);
  });

  t.test("a loaded wallet does not include the charge of a call in quarantine", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    await ledger.quarantine(charge(a, 30), "for a test");
    t.equal(await balance(ledger, a), 70n);
    t.equal(await agreedBalance(ledger, a), 100n);
    t.equal((await ledger.sum(a))?.quarantinedMicroVnd, 30n);
    t.equal((await ledger.wallet(a))?.uncoveredMicroVnd, undefined);
    await ledger.quarantine(charge(a, 90), "for a test");
    t.equal(await balance(ledger, a), 0n);
    t.equal((await ledger.wallet(a))?.uncoveredMicroVnd, 20n, "the next movements pay it");
  });

  t.test(
    "a call in quarantine is committed once its cause is fixed, completely and only once",
    async (t) => {
      const a = await fundedAccount(ledger, 100n);
      const entry = charge(a, 101);
      const { callId } = entry.posting;
      await ledger.quarantine(entry, "below zero");
      await assert.rejects(ledger.commitQuarantined(callId), EntryRefused);
      t.equal(await agreedBalance(ledger, a), 100n);
      await ledger.credit(topUp(a, 10n));
      const tries = await Promise.all([1, 2, 3].map(() => ledger.commitQuarantined(callId)));
      t.ok(tries.includes(true));
      t.equal(await ledger.commitQuarantined(callId), false);
      t.equal(await agreedBalance(ledger, a), 9n);
      t.equal(await balance(ledger, a), 9n);
      t.equal((await ledger.usage({ accountId: a, limit: 10 })).length, 1);
      t.equal(await ledger.hasCall(entry.posting), true);
      t.equal(await ledger.hasCall(charge(a, 1).posting), false);
    },
  );

  t.test(
    "an entry that cannot be read is listed beside the others, and its retry changes nothing",
    async (t) => {
      const a = await fundedAccount(ledger, 100n);
      const newer = charge(a, 30);
      const { callId } = newer.posting;
      const text = newer.text.replace('"v":1', '"v":2');
      for (const each of [text, "no entry"]) {
        const entry = decodeEntry("1", each);
        if (isReadable(entry)) throw new Error("the entry is readable");
        await ledger.quarantine(entry, entry.reason);
        await ledger.quarantine(entry, entry.reason);
      }
      await ledger.quarantine(charge(a, 5), "for a test");
      t.equal(await balance(ledger, a), 65n);
      const list = await ledger.quarantineList(1_000);
      const texts = list.map(({ entry }) => entry.text);
      t.equal(texts.filter((each) => each === text || each === "no entry").length, 2);
      const found = await ledger.quarantinedCall(callId);
      t.match(found?.reason, /version 2/);
      t.equal(found?.entry.chargedMicroVnd, 30);
      await assert.rejects(ledger.commitQuarantined(callId), EntryUnreadable);
      t.equal(await ledger.hasCall(newer.posting), true);
      t.equal(await agreedBalance(ledger, a), 100n);
    },
  );

  t.test("an entry that an older version could not read is committed by this one", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    // Redis keeps the charge beside the text, which says 0.
    const { text: charged, posting } = charge(a, 30);
    const text = charged.replace('"charged":30', '"charged":0');
    const { callId } = posting;
    const call = { callId, accountId: a, purses: null, at: posting.at };
    const reason = "cannot read an entry of version 2";
    await ledger.quarantine({ entryId: "1", text, call, chargedMicroVnd: 30, reason }, reason);
    t.equal(await ledger.commitQuarantined(callId), true);
    t.equal(await ledger.commitQuarantined(callId), false);
    t.equal(await agreedBalance(ledger, a), 70n);
    t.equal((await ledger.call(callId))?.chargedMicroVnd, 30n);
  });

  t.test("a call that is committed leaves quarantine, and is charged once", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const entry = charge(a, 30);
    const unread = decodeEntry("1", entry.text.replace('"v":1', '"v":2'));
    await ledger.quarantine(unread, "for a test");
    await ledger.quarantine(charge(a, 5), "for a test");
    await ledger.commit([entry, charge(a, 1)]);
    t.equal(await ledger.quarantinedCall(entry.posting.callId), undefined);
    t.equal(await agreedBalance(ledger, a), 69n);
    t.equal(await balance(ledger, a), 64n);
  });

  for (const isCommitFirst of [true, false]) {
    const order = isCommitFirst ? "before" : "after";
    t.test(
      `a call whose commit begins just ${order} its quarantine is in one of the books`,
      async (t) => {
        const a = await fundedAccount(ledger, 100n);
        const entry = charge(a, 30);
        const unread = decodeEntry("1", entry.text.replace('"v":1', '"v":2'));
        const steps = [() => ledger.commit([entry]), () => ledger.quarantine(unread, "for a test")];
        if (!isCommitFirst) steps.reverse();
        // Both are in the middle of their transactions: the last step of each waits for this lock.
        const released = sql.script(`do $$ begin
        lock table ledger_writers in share mode;
        loop
          perform pg_stat_clear_snapshot();
          exit when (${WAITING}) >= 2;
          perform pg_sleep(0.01);
        end loop;
      end $$`);
        const [first, second] = steps;
        await until("the lock is taken", async () => (await sql.query(LOCKED)).length > 0);
        const firstDone = first?.();
        const waiting = () => sql.query<{ readonly waiting: number }>(WAITING);
        await until("the first step waits", async () => (await waiting())[0]?.waiting === 1);
        await Promise.all([released, firstDone, second?.()]);
        t.equal(await ledger.quarantinedCall(entry.posting.callId), undefined);
        t.equal(await agreedBalance(ledger, a), 70n);
        t.equal(await balance(ledger, a), 70n);
      },
    );
  }

  t.test("an entry of a committed call that cannot be read is not in quarantine", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const entry = charge(a, 30);
    await ledger.commit([entry]);
    const again = decodeEntry("1", entry.text.replace('"v":1', '"v":2'));
    await ledger.quarantine(again, "for a test");
    t.equal(await ledger.quarantinedCall(entry.posting.callId), undefined);
    t.equal(await balance(ledger, a), 70n);
  });
}
