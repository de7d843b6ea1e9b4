import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import { type LedgerEpochs, MembershipEnded } from "../../../../core/money/ledger-epochs.ts";
import { EpochBooks, epochsOf } from "../../../support/epoch-books.ts";
import { OWN_LOCKS } from "../../../support/postgres.ts";
import { until } from "../../../support/until.ts";
import { agreedBalance, charge, fundedAccount, type LedgerUnderTest } from "./fixtures.ts";

/** A bucket of its own for each test. */
const newBucket = () => `b-${randomUUID()}`;

/** Both the ledger, and the model of it that tests of the hold store use. */
function epochTests(t: Test, name: string, epochs: LedgerEpochs): void {
  t.test(`of two gateways one begins the next epoch: ${name}`, async (t) => {
    const bucket = newBucket();
    t.strictSame(await epochs.read(bucket), { name: "", isRestored: false, members: new Map() });
    const first = await Promise.all([
      epochs.begin(bucket, "", "1-a", false),
      epochs.begin(bucket, "", "1-b", false),
    ]);
    t.strictSame(first.filter(Boolean), [true]);
    const { name: begun } = await epochs.read(bucket);
    t.equal(begun, first[0] ? "1-a" : "1-b");
    t.equal(await epochs.begin(bucket, "", "2-a", false), false);
    t.equal(await epochs.begin(bucket, begun, "2-b", true), true);
    t.match(await epochs.read(bucket), { name: "2-b", isRestored: true });
    t.equal(await epochs.begin(bucket, "2-b", "3-c", false), true);
    t.match(await epochs.read(bucket), { isRestored: true }, "none has opened since the restore");
    t.equal(await epochs.open(bucket, "3-c", []), true);
    t.equal(await epochs.begin(bucket, "3-c", "4-d", false), true);
    t.match(await epochs.read(bucket), { isRestored: false });
  });

  t.test(`a gateway enters only the last epoch: ${name}`, async (t) => {
    const bucket = newBucket();
    t.equal(await epochs.enter(bucket, "1-a", "g1"), false, "there is none");
    await epochs.begin(bucket, "", "1-a", false);
    t.equal(await epochs.enter(bucket, "1-b", "g1"), false);
    t.equal(await epochs.enter(bucket, "1-a", "g1"), true);
    t.equal(await epochs.enter(bucket, "1-a", "g2"), true);
    await epochs.begin(bucket, "1-a", "2-a", false);
    t.equal(await epochs.enter(bucket, "1-a", "g2"), false);
    t.equal(await epochs.enter(bucket, "2-a", "g2"), true);
    const members = [...(await epochs.read(bucket)).members].sort();
    t.strictSame(members, [
      ["g1", "1-a"],
      ["g2", "2-a"],
    ]);
  });

  t.test(
    `an epoch opens once every member has entered it, or may be removed: ${name}`,
    async (t) => {
      const bucket = newBucket();
      await epochs.begin(bucket, "", "1-a", false);
      for (const gateway of ["g1", "g2", "g3"]) await epochs.enter(bucket, "1-a", gateway);
      t.equal(await epochs.open(bucket, "1-a", []), true);
      await epochs.begin(bucket, "1-a", "2-a", false);
      await epochs.enter(bucket, "2-a", "g1");
      t.equal(await epochs.open(bucket, "1-a", ["g2", "g3"]), false, "it is not the last epoch");
      t.equal(await epochs.open(bucket, "2-a", ["g2"]), false, "g3 is awaited");
      t.equal((await epochs.read(bucket)).members.size, 3);
      t.equal(await epochs.open(bucket, "2-a", ["g2", "g3"]), true);
      t.strictSame([...(await epochs.read(bucket)).members], [["g1", "2-a"]]);
      await epochs.leave(bucket, ["g1"]);
      t.equal((await epochs.read(bucket)).members.size, 0);
    },
  );
}

export function epochsTests(t: Test, { ledger, sql }: LedgerUnderTest): void {
  epochTests(t, "the ledger", ledger.epochs);
  const books = new EpochBooks();
  epochTests(
    t,
    "the model",
    epochsOf(async (work) => work(books)),
  );

  t.test("the ledger refuses the commit of a gateway that was removed", async (t) => {
    const { epochs } = ledger;
    const a = await fundedAccount(ledger, 100n);
    const bucket = newBucket();
    const entry = (epoch: string, gateway = "g1") => ({
      ...charge(a, 1),
      membership: `${bucket}|${epoch}|${gateway}`,
    });
    await epochs.begin(bucket, "", "1-a", false);
    await assert.rejects(ledger.commit([entry("1-a")]), MembershipEnded);
    for (const gateway of ["g1", "g2"]) await epochs.enter(bucket, "1-a", gateway);
    await ledger.commit([entry("1-a"), entry("1-a"), entry("1-a", "g2"), charge(a, 1)]);
    await epochs.begin(bucket, "1-a", "2-a", false);
    await ledger.commit([entry("1-a")]);
    t.equal(await agreedBalance(ledger, a), 95n, "it may commit until it enters the next one");
    await epochs.enter(bucket, "2-a", "g1");
    await assert.rejects(ledger.commit([entry("1-a"), entry("2-a")]), MembershipEnded);
    await assert.rejects(ledger.quarantine(entry("1-a"), "for a test"), MembershipEnded);
    await epochs.open(bucket, "2-a", ["g2"]);
    await assert.rejects(ledger.commit([entry("1-a", "g2")]), MembershipEnded);
    t.equal(await agreedBalance(ledger, a), 95n);
    await ledger.commit([entry("2-a")]);
    t.equal(await agreedBalance(ledger, a), 94n);
  });

  t.test("an epoch does not open while a commit of a gateway that it removes runs", async (t) => {
    const { epochs } = ledger;
    const bucket = newBucket();
    await epochs.begin(bucket, "", "1-a", false);
    await epochs.enter(bucket, "1-a", "g1");
    await epochs.begin(bucket, "1-a", "2-a", false);
    const running = sql.query<{ ended: Date }>(
      "select require_members($1::text::text[]), pg_sleep(0.5), clock_timestamp() as ended",
      [`{${bucket}|1-a|g1}`],
    );
    await until("it runs", async () => {
      const [row] = await sql.query<{ locks: number }>(
        `select count(*)::integer as locks from ${OWN_LOCKS}
        where relation = 'hold_members'::regclass and mode = 'RowShareLock'`,
      );
      return row?.locks === 1;
    });
    t.equal(await epochs.open(bucket, "2-a", ["g1"]), true);
    const [opened] = await sql.query<{ at: Date }>("select clock_timestamp() as at");
    const [commit] = await running;
    assert.ok(opened && commit);
    t.ok(opened.at >= commit.ended, "it waited for the commit");
  });
}
