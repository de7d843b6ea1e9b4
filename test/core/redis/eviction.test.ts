import t from "tap";
import { startRedisServer } from "../../support/redis.ts";
import { startStore } from "../money/redis/store.ts";

t.test("a Redis that evicts keys when it is full is refused at the start", async (t) => {
  const server = await startRedisServer();
  await server.call("CONFIG", "SET", "maxmemory-policy", "volatile-lru");
  await t.rejects(startStore({ servers: server.url }), /volatile-lru.*set.*to noeviction/);
  await server.call("CONFIG", "SET", "maxmemory-policy", "noeviction");
  const { dispose } = await startStore({ servers: server.url });
  await dispose();
  await server.stop();
});
