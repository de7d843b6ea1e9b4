import { randomUUID } from "node:crypto";
import t from "tap";
import type { LedgerWatch } from "../../../../core/money/ledger-watch.ts";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { Doubt } from "../../../../core/money/redis/doubt.ts";
import { LostCounts } from "../../../../core/money/redis/lost-counts.ts";
import type { Membership } from "../../../../core/money/redis/membership.ts";
import { NotMember } from "../../../../core/money/redis/session.ts";
import { bucketIndexOf, bucketName } from "../../../../core/redis/buckets.ts";
import { listOf } from "../../../../core/redis/reply.ts";
import { startRedisServer } from "../../../support/redis.ts";
import { BUCKETS } from "./store.ts";
import { World } from "./world.ts";

/**
 * The counts that show that the ledger went back are in the first bucket. A node of a cluster can lose them alone, while
 * the wallets at other nodes remain.
 */
t.test(
  "no wallet is believed if the counts of the ledger were lost while no gateway ran",
  async (t) => {
    const redis = await startRedisServer();
    t.teardown(() => redis.stop());
    const options = { servers: redis.url, prefix: `test-${randomUUID()}` };
    const accountId = elsewhere();
    const before = new World(options);
    const gateway = await before.addGateway();
    await before.addAccount(accountId, 5_000n);
    t.equal(await before.call(gateway.store, accountId), "posted");
    await before.quiet();
    await before.kill(gateway);
    await before.dispose();

    const first = `${options.prefix}:{${bucketName(0)}}:*`;
    const lost = listOf(await redis.call("KEYS", first)).map(String);
    t.ok(lost.some((key) => key.endsWith(":ledger")));
    await redis.call("DEL", ...lost);
    const restored = new World(options);
    await restored.addAccount(accountId, 3_000n);
    const { store } = await restored.addGateway();
    t.equal(await restored.call(store, accountId, { hold: 4_000 }), "short");
    t.equal(await restored.call(store, accountId), "posted");
    await restored.check();
    await restored.dispose();
  },
);

interface Stage {
  readonly counts: LostCounts;
  readonly buckets: readonly Bucket[];
  readonly memberships: readonly { readonly doubt: Doubt; failures: number }[];
  readonly watch: { hasCompared: boolean; keepAgain(): Promise<void> };
  readonly hurried: unknown[];
}

function stageOf(): Stage {
  const buckets = ["b00", "b01", "b02"].map((name) => ({ name }) as Bucket);
  const memberships = buckets.map(() => ({ doubt: new Doubt(), failures: 0 }));
  const watch = { hasCompared: false, keepAgain: async () => {} };
  const hurried: unknown[] = [];
  const counts = new LostCounts({
    memberships: new Map(buckets.map((each, at) => [each, memberships[at] as Membership])),
    watch: watch as LedgerWatch,
    hurry: (membership) => hurried.push(membership),
  });
  return { counts, buckets, memberships, watch, hurried };
}

t.test("the first bucket waits until the others are believed, or do not reply", async (t) => {
  const { counts, buckets, memberships, hurried } = stageOf();
  const [first, second] = buckets;
  const [own, replies, silent] = memberships;
  if (!first || !second || !own || !replies || !silent) throw new Error("there are three buckets");
  await counts.beginning(second);
  t.equal(replies.doubt.isOpen, false, "another bucket may begin an epoch at any time");
  await t.rejects(counts.beginning(first), NotMember);
  t.strictSame(hurried.splice(0), [replies, silent]);
  t.equal(own.doubt.isOpen, false);
  silent.failures = 1;
  await t.rejects(counts.beginning(first), NotMember);
  t.equal(replies.doubt.concerns("7", ""), true);
  await t.rejects(counts.beginning(first), NotMember);
  t.equal(replies.doubt.concerns("8", "8"), false);
  await counts.beginning(first);
  t.strictSame(hurried, [], "the others are in doubt once");
  t.equal(silent.doubt.isOpen, true, "its epoch ends once it replies");
  silent.failures = 0;
  await t.rejects(counts.beginning(first), NotMember, "data may be lost again");
});

t.test("a process that knows the counts keeps them before the first bucket goes on", async (t) => {
  const { counts, buckets, watch, hurried } = stageOf();
  const [first] = buckets;
  if (!first) throw new Error("there are three buckets");
  watch.hasCompared = true;
  let kept = 0;
  watch.keepAgain = async () => {
    kept += 1;
  };
  await counts.beginning(first);
  t.equal(kept, 1);
  watch.keepAgain = () => Promise.reject(new Error("no reply"));
  await t.rejects(counts.beginning(first), /no reply/);
  t.strictSame(hurried, []);
});

/** Returns an account that is not in the first bucket. */
function elsewhere(): string {
  for (;;) {
    const accountId = randomUUID();
    if (bucketIndexOf(accountId, BUCKETS) !== 0) return accountId;
  }
}
