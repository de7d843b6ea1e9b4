import { randomUUID } from "node:crypto";
import t from "tap";
import { bucketIndexOf, bucketName } from "../../../../core/redis/buckets.ts";
import { listOf } from "../../../../core/redis/reply.ts";
import { startRedisServer } from "../../../support/redis.ts";
import { World } from "./world.ts";

/** As many as `store.ts` has. */
const BUCKETS = 4;

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

/** Returns an account that is not in the first bucket. */
function elsewhere(): string {
  for (;;) {
    const accountId = randomUUID();
    if (bucketIndexOf(accountId, BUCKETS) !== 0) return accountId;
  }
}
