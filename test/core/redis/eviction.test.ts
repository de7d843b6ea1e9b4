import assert from "node:assert/strict";
import { test } from "node:test";
import { startRedisServer } from "../../support/redis.ts";
import { startStore } from "../money/redis/store.ts";

test("a redis that forgets keys when it is full is refused at the start", async () => {
  const server = await startRedisServer();
  await server.call("CONFIG", "SET", "maxmemory-policy", "volatile-lru");
  await assert.rejects(startStore({ servers: server.url }), /volatile-lru.*set.*to noeviction/);
  await server.call("CONFIG", "SET", "maxmemory-policy", "noeviction");
  const { dispose } = await startStore({ servers: server.url });
  await dispose();
  await server.stop();
});
