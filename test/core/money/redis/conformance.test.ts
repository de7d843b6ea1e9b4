import t from "tap";
import { startRedis, type TestRedis } from "../../../support/redis.ts";
import { holdStoreConformance } from "../conformance.ts";
import { killed, wiped } from "./crashing.ts";

let redis: TestRedis;

t.before(async () => {
  redis = await startRedis();
});
t.teardown(() => redis.stop());

const outlive = { walletsOutliveCrashes: true };
holdStoreConformance(t, "redis, gateway killed", (ledger) => killed(redis, ledger), outlive);
holdStoreConformance(t, "redis, wiped", (ledger) => wiped(redis, ledger));
