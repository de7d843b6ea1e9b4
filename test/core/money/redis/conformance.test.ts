import t from "tap";
import type { MemoryLedger } from "../../../support/memory-ledger.ts";
import { startRedis, startRedisCluster, type TestRedis } from "../../../support/redis.ts";
import { holdStoreConformance } from "../conformance.ts";
import type { HoldStoreUnderTest } from "../under-test.ts";
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
async function killed(
  redis: TestRedis,
  ledger: MemoryLedger,
  before?: TestStore,
): Promise<HoldStoreUnderTest> {
  const { servers } = redis;
  const subject = await startStore({
    servers,
    ledger,
    ...(before && { prefix: before.prefix, spoolFolder: before.spoolFolder }),
  });
  return {
    store: subject.store,
    async crash() {
      await subject.die();
      await endLeases(servers, subject.prefix);
      return killed(redis, ledger, subject);
    },
    dispose: subject.dispose,
  };
}

/** A crash wipes Redis, while the gateway continues. */
async function wiped(redis: TestRedis, ledger: MemoryLedger): Promise<HoldStoreUnderTest> {
  const { store, prefix, dispose } = await startStore({ servers: redis.servers, ledger });
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
holdStoreConformance(t, "redis, gateway killed", (ledger) => killed(single, ledger), outlive);
holdStoreConformance(t, "redis, wiped", (ledger) => wiped(single, ledger));
holdStoreConformance(
  t,
  "redis cluster, gateway killed",
  (ledger) => killed(cluster, ledger),
  outlive,
);
holdStoreConformance(t, "redis cluster, wiped", (ledger) => wiped(cluster, ledger));
