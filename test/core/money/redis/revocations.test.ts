import assert from "node:assert/strict";
import { Redis } from "ioredis";
import t from "tap";
import { KEY_KEPT_MS } from "../../../../core/money/lifetimes.ts";
import { startRedis } from "../../../support/redis.ts";
import { startStore } from "./store.ts";

t.test("a revoked key", async (t) => {
  const redis = await startRedis();
  const server = [redis.servers].flat()[0];
  assert.ok(server !== undefined);
  const client = new Redis(server);
  const { store, prefix, dispose } = await startStore({ servers: redis.servers });
  t.teardown(async () => {
    client.disconnect();
    await dispose();
    await redis.stop();
  });

  t.test("is one key in one bucket, until no process can have it in its cache", async (t) => {
    // Other keys come and go, such as the store's heartbeat.
    const revocations = () => client.keys(`${prefix}*:revoked*`);
    t.strictSame(await revocations(), []);
    for (let n = 0; n < 10; n += 1) await store.revoke(`K${n}`, `account ${n}`);
    const added = await revocations();
    t.equal(added.length, 10, added.join(" "));
    for (const key of added) {
      const leftMs = await client.pttl(key);
      t.ok(leftMs > KEY_KEPT_MS && leftMs <= 2 * KEY_KEPT_MS, `${leftMs} ms`);
    }
    for (let n = 0; n < 10; n += 1) await store.restore(`K${n}`, `account ${n}`);
    t.strictSame(await revocations(), []);
  });
});
