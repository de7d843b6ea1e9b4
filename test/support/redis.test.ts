import t from "tap";
import { startRedisServer } from "./redis.ts";

t.test("a Redis server that ends at its start fails the test, and does not block it", async (t) => {
  const settings = ["--no-such-setting", "yes"];
  await t.rejects(startRedisServer({ settings }), /ended before it was ready/);
});
