import type { MemoryLedger } from "../../../support/memory-ledger.ts";
import type { TestRedis } from "../../../support/redis.ts";
import type { HoldStoreUnderTest } from "../under-test.ts";
import { endLeases, startStore, type TestStore } from "./store.ts";

/** A crash kills the gateway. A new one continues with its data in Redis. */
export async function killed(
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
export async function wiped(redis: TestRedis, ledger: MemoryLedger): Promise<HoldStoreUnderTest> {
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
