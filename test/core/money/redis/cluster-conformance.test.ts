import t from "tap";
import { startRedisCluster, type TestRedis } from "../../../support/redis.ts";
import { holdStoreConformance } from "../conformance.ts";
import { killed } from "./crashing.ts";

let redis: TestRedis;

t.before(async () => {
  redis = await startRedisCluster();
});
t.teardown(() => redis.stop());

const outlive = { walletsOutliveCrashes: true };
holdStoreConformance(
  t,
  "redis cluster, gateway killed",
  (ledger) => killed(redis, ledger),
  outlive,
);
