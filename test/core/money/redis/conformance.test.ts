import t from "tap";
import { startRedis, startRedisCluster, type TestRedis } from "../../../support/redis.ts";
import { type HoldStoreUnderTest, holdStoreConformance } from "../conformance.ts";
import { endLeases, startStore, type TestStore } from "./store.ts";

let single: TestRedis;
let cluster: TestRedis;

t.before(async () => {
  [single, cluster] = await Promise.all([startRedis(), startRedisCluster()]);
});

t.teardown(async () => {
  await Promise.all([single.stop(), cluster.stop()]);
});

/** A crash kills the gateway. A new one continues with its data in Redis. */
async function killed(redis: TestRedis, before?: TestStore): Promise<HoldStoreUnderTest> {
  const { servers } = redis;
  const subject = await startStore({
    servers,
    ...(before && { prefix: before.prefix, spoolFolder: before.spoolFolder }),
  });
  return {
    store: subject.store,
    async crash() {
      await subject.die();
      await endLeases(servers, subject.prefix);
      return killed(redis, subject);
    },
    dispose: subject.dispose,
  };
}

/** A crash wipes Redis, while the gateway continues. */
async function wiped(redis: TestRedis): Promise<HoldStoreUnderTest> {
  const { store, prefix, dispose } = await startStore({ servers: redis.servers });
  const subject: HoldStoreUnderTest = {
    store,
    async crash() {
      await redis.wipe(prefix);
      return subject;
    },
    dispose,
  };
  return subject;
}

const outlive = { walletsOutliveCrashes: true };
holdStoreConformance(t, "redis, gateway killed", () => killed(single), outlive);
holdStoreConformance(t, "redis, wiped", () => wiped(single));
holdStoreConformance(t, "redis cluster, gateway killed", () => killed(cluster), outlive);
holdStoreConformance(t, "redis cluster, wiped", () => wiped(cluster));
