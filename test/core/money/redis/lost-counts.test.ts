import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { RedisKeptProgress } from "../../../../core/money/redis/kept-progress.ts";
import { bucketIndexOf, bucketName } from "../../../../core/redis/buckets.ts";
import { listOf } from "../../../../core/redis/reply.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { BUCKETS, connectedClient } from "./store.ts";
import { World } from "./world.ts";

/**
 * The counts that show that the ledger went back are in the first bucket. A node of a cluster can lose them alone, while
 * the wallets at other nodes remain.
 */
const FIRST = bucketName(0);

let redis: RedisServer;

t.before(async () => {
  redis = await startRedisServer();
});

t.teardown(() => redis.stop());

/** Runs a gateway that charges a call of 700 and dies, and calls `midway` once an earlier call is charged. */
async function charged(
  accountId: string,
  midway: (prefix: string) => Promise<void>,
): Promise<string> {
  const prefix = `test-${randomUUID()}`;
  const before = new World({ servers: redis.url, prefix });
  const gateway = await before.addGateway();
  await before.addAccount(accountId, 5_000n);
  await before.call(gateway.store, accountId);
  await before.quiet();
  await midway(prefix);
  await before.ledger.history.commit();
  await before.call(gateway.store, accountId);
  await before.quiet();
  await before.kill(gateway);
  await before.dispose();
  return prefix;
}

async function keysOf(prefix: string): Promise<string[]> {
  return listOf(await redis.call("KEYS", `${prefix}:{${FIRST}}:*`)).map(String);
}

t.test(
  "no wallet is believed if the counts of the ledger were lost while no gateway ran",
  async (t) => {
    const accountId = elsewhere();
    const prefix = await charged(accountId, async () => {});
    const lost = await keysOf(prefix);
    t.ok(lost.some((key) => key.endsWith(":ledger")));
    await redis.call("DEL", ...lost);
    await isLoadedAgain(t, prefix, accountId);
  },
);

t.test(
  "no wallet is believed if the counts of the ledger went back while no gateway ran",
  async (t) => {
    const accountId = elsewhere();
    const copied = new Map<string, string>();
    const prefix = await charged(accountId, async (prefix) => {
      for (const key of await keysOf(prefix)) {
        await redis.call("COPY", key, `copy-${key}`);
        copied.set(key, `copy-${key}`);
      }
    });
    t.ok(copied.size > 0);
    await redis.call("DEL", ...(await keysOf(prefix)));
    for (const [key, copy] of copied) await redis.call("RENAME", copy, key);
    await isLoadedAgain(t, prefix, accountId);
  },
);

t.test("a wallet is believed if the counts of the ledger are there", async (t) => {
  const accountId = elsewhere();
  const prefix = await charged(accountId, async () => {});
  const bucket = `${prefix}:{${bucketName(bucketIndexOf(accountId, BUCKETS))}}`;
  const epoch = await redis.call("GET", `${bucket}:epoch`);
  const after = new World({ servers: redis.url, prefix });
  await after.addGateway();
  t.equal(await redis.call("GET", `${bucket}:epoch`), epoch);
  await after.dispose();
});

t.test("a commit does not hide that counts of another process were lost", async (t) => {
  const client = await connectedClient(redis.url);
  t.teardown(() => client.disconnect());
  const first = { state: "ready", run: async () => {} } as unknown as Bucket;
  const gateway = () => new RedisKeptProgress(client, "t", () => first);
  const counts = (writer: string, count: number) => ({
    generation: 0,
    commits: new Map([[writer, count]]),
  });
  const [own, dead] = [gateway(), gateway()];
  await own.keep(counts("own", 1), new Map());
  const keys = await keysOf("t");
  for (const key of keys) await client.call("COPY", key, `copy-${key}`);
  await dead.raise(counts("dead", 1));
  await own.keep(counts("own", 1), new Map());
  // Redis goes back to before the other one had committed.
  for (const key of keys) await client.call("COPY", `copy-${key}`, key, "REPLACE");
  await own.raise(counts("own", 2));
  const kept = await gateway().keep({ generation: 0, commits: new Map() }, new Map());
  t.strictSame([...kept.commits].sort(), [
    ["dead", 1],
    ["own", 2],
  ]);
});

/** The ledger went back to less than the wallet had. */
async function isLoadedAgain(t: Test, prefix: string, accountId: string): Promise<void> {
  const restored = new World({ servers: redis.url, prefix });
  await restored.addAccount(accountId, 3_000n);
  const { store } = await restored.addGateway();
  t.equal(await restored.call(store, accountId, { hold: 3_400 }), "short");
  t.equal(await restored.call(store, accountId, { hold: 3_000 }), "posted");
  await restored.check();
  await restored.dispose();
}

/** Returns an account that is not in the first bucket. */
function elsewhere(): string {
  for (;;) {
    const accountId = randomUUID();
    if (bucketIndexOf(accountId, BUCKETS) !== 0) return accountId;
  }
}
