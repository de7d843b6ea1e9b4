import t from "tap";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import { asReply, Session } from "../../../../core/money/redis/session.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";

t.test("a reply counts only if its count of operations is above all before", async (t) => {
  const counts = [2, 3, 3, 2, 4, 0];
  const client = { evalsha: async () => [counts.shift(), "ok"] } as unknown as RedisCommands;
  const troubles: unknown[] = [];
  const onTrouble = (error: unknown) => troubles.push(error);
  const session = new Session({ keys: new BucketKeys("t", 0), client, process: "me", onTrouble });
  session.enter("100");
  const run = () => session.run("noop", [], [], asReply);
  t.strictSame(await run(), ["ok"]);
  t.strictSame(await run(), ["ok"]);
  await t.rejects(run(), /Redis lost operations/);
  await t.rejects(run(), /Redis lost operations/);
  t.strictSame(await run(), ["ok"]);
  await t.rejects(run(), /is being joined/);
  t.equal(session.operationsSeen, 4);
  t.equal(troubles.length, 3);
});
