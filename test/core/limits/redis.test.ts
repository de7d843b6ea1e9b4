import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { RedisRateLimiter } from "../../../core/limits/redis.ts";
import { RedisClient } from "../../../core/redis/client.ts";
import { type RedisServer, startRedisServer } from "../../support/redis.ts";

let server: RedisServer;
let clients: RedisClient[];
let limiters: RedisRateLimiter[];

before(async () => {
  server = await startRedisServer();
  clients = [new RedisClient(server.url, 450), new RedisClient(server.url, 450)];
  await Promise.all(
    clients.map((client) => new Promise<void>((resolve) => client.connect(resolve))),
  );
  limiters = clients.map((client) => new RedisRateLimiter(client, "test"));
});

after(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

test("two gateways share a key's calls per minute", async () => {
  const taken = await Promise.all(
    Array.from({ length: 20 }, (_, n) => limiters[n % 2]!.take("K1", 6, 6)),
  );
  assert.equal(taken.filter((rate) => rate.allowed).length, 6);
  const refused = taken.find((rate) => !rate.allowed);
  assert.equal(refused?.remaining, 0);
  assert.ok(refused && refused.retryMs > 9_000 && refused.retryMs <= 10_000);
  assert.ok(refused.resetMs > 59_000 && refused.resetMs <= 60_000);
});

test("two gateways share a key's running calls", async () => {
  const entered = await Promise.all(
    Array.from({ length: 10 }, (_, n) => limiters[n % 2]!.enter("K2", `c${n}`, 3)),
  );
  assert.equal(entered.filter(Boolean).length, 3);
  const first = entered.indexOf(true);
  assert.equal(await limiters[first % 2]!.enter("K2", `c${first}`, 3), true);
  await limiters[0]!.leave("K2", `c${first}`);
  assert.equal(await limiters[1]!.enter("K2", "next", 3), true);
  assert.equal(await limiters[1]!.enter("K2", "one too many", 3), false);
});

test("a call that a dead gateway had running does not count for ever", async () => {
  await limiters[0]!.enter("K3", "c1", 1);
  assert.equal(await limiters[1]!.enter("K3", "c2", 1), false);
  const [key] = (await server.call("KEYS", "*:K3")) as string[];
  const leftMs = Number(await server.call("PTTL", String(key)));
  assert.ok(leftMs > 0 && leftMs <= 30_000, `${leftMs} ms`);
});

test("while redis is away nothing is limited: no call gets past its hold then", async () => {
  await server.kill();
  assert.equal((await limiters[0]!.take("K1", 6, 6)).allowed, true);
  assert.equal(await limiters[0]!.enter("K2", "c", 1), true);
  await limiters[0]!.leave("K2", "c");
});
