import assert from "node:assert/strict";
import t from "tap";
import { RedisRateLimiter } from "../../../core/limits/redis.ts";
import { RedisClient } from "../../../core/redis/client.ts";
import { type RedisServer, startRedisServer } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

let server: RedisServer;
let clients: RedisClient[];
let limiters: RedisRateLimiter[];

t.before(async () => {
  server = await startRedisServer();
  clients = [new RedisClient(server.url, 450), new RedisClient(server.url, 450)];
  await Promise.all(
    clients.map((client) => new Promise<void>((resolve) => client.connect(resolve))),
  );
  limiters = clients.map((client) => new RedisRateLimiter(client, "test"));
});

t.teardown(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

t.test("two gateways share a key's calls per minute", async (t) => {
  const taken = await Promise.all(
    Array.from({ length: 20 }, (_, n) => limiters[n % 2]!.takeCall("K1", 6, 6)),
  );
  t.equal(taken.filter((rate) => rate.allowed).length, 6);
  const refused = taken.find((rate) => !rate.allowed);
  t.equal(refused?.remaining, 0);
  assert.ok(refused && refused.retryMs > 9_000 && refused.retryMs <= 10_000);
  t.ok(refused.resetMs > 59_000 && refused.resetMs <= 60_000);
});

t.test("a key that used up a limit calls by the limit that replaces it", async (t) => {
  const [limiter] = limiters;
  assert.ok(limiter);
  for (let n = 0; n < 30; n++) await limiter.takeCall("K5", 6, 30);
  const refused = await limiter.takeCall("K5", 600, 10);
  t.equal(refused.allowed, false);
  t.ok(refused.retryMs > 0 && refused.retryMs <= 100, `${refused.retryMs} ms`);
  await until("it calls again", async () => (await limiter.takeCall("K5", 600, 10)).allowed);
});

t.test("a clock of Redis that steps back locks no key out", async (t) => {
  const [limiter] = limiters;
  assert.ok(limiter);
  await limiter.takeCall("K6", 600, 10);
  const [key] = (await server.call("KEYS", "*:K6")) as string[];
  await server.call("SET", String(key), String(Date.now() + 3_600_000), "PX", "3600000");
  t.equal((await limiter.takeCall("K6", 600, 10)).allowed, false);
  await until("it calls again", async () => (await limiter.takeCall("K6", 600, 10)).allowed);
});

t.test("two gateways share a key's limit of calls in flight", async (t) => {
  const entered = await Promise.all(
    Array.from({ length: 10 }, (_, n) => limiters[n % 2]!.enterCall("K2", `c${n}`, 3)),
  );
  t.equal(entered.filter(Boolean).length, 3);
  const first = entered.indexOf(true);
  t.equal(await limiters[first % 2]!.enterCall("K2", `c${first}`, 3), true);
  await limiters[0]!.leaveCall("K2", `c${first}`);
  t.equal(await limiters[1]!.enterCall("K2", "next", 3), true);
  t.equal(await limiters[1]!.enterCall("K2", "one too many", 3), false);
});

t.test("a call in flight on a dead gateway expires", async (t) => {
  await limiters[0]!.enterCall("K3", "c1", 1);
  t.equal(await limiters[1]!.enterCall("K3", "c2", 1), false);
  const [key] = (await server.call("KEYS", "*:K3")) as string[];
  const leftMs = Number(await server.call("PTTL", String(key)));
  t.ok(leftMs > 0 && leftMs <= 30_000, `${leftMs} ms`);
});

t.test("a call that counts for its key and for a member is renewed for both", async () => {
  for (const of of ["K4", "M4"]) await limiters[0]!.enterCall(of, "c", 3);
  const leftMs = async (of: string) => {
    const [key] = (await server.call("KEYS", `*:${of}`)) as string[];
    return Number(await server.call("PTTL", String(key)));
  };
  await until("its leases have aged", async () => (await leftMs("M4")) < 25_000);
  await until("the member's is renewed", async () => (await leftMs("M4")) > 25_000);
  await until("the key's is too", async () => (await leftMs("K4")) > 25_000);
});

t.test("while Redis is down nothing is limited, because no call gets a hold", async (t) => {
  await server.kill();
  t.equal((await limiters[0]!.takeCall("K1", 6, 6)).allowed, true);
  t.equal(await limiters[0]!.enterCall("K2", "c", 1), true);
  await limiters[0]!.leaveCall("K2", "c");
});
