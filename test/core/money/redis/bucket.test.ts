import t from "tap";
import { asReply, Bucket, NotMember } from "../../../../core/money/redis/bucket.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import { ManualMachine } from "../manual-machine.ts";

/** A bucket in a Redis that replies with these counts of operations. */
function stage(counts: number[] = []) {
  const client = { evalsha: async () => [counts.shift(), "ok"] } as unknown as RedisCommands;
  const troubles: unknown[] = [];
  const onTrouble = (error: unknown) => troubles.push(error);
  const machine = new ManualMachine();
  const bucket = new Bucket(new BucketKeys("t", 0), { client, process: "me", machine, onTrouble });
  bucket.enter("1-a", "");
  bucket.set("ready", true);
  return { bucket, troubles };
}

t.test("a reply counts only if its count of operations is above all before", async (t) => {
  const { bucket, troubles } = stage([2, 3, 3, 2, 4, 0]);
  t.equal(bucket.isFull, false);
  const run = () => bucket.run("noop", [], [], asReply);
  t.strictSame(await run(), ["ok"]);
  t.strictSame(await run(), ["ok"]);
  await t.rejects(run(), /Redis lost operations/);
  await t.rejects(run(), /Redis lost operations/);
  t.strictSame(await run(), ["ok"]);
  await t.rejects(run(), /is being joined/);
  t.equal(bucket.operationsSeen, 4);
  t.equal(troubles.length, 3);
});

t.test("work in a bucket that must be joined first is tried three times", async (t) => {
  const { bucket } = stage();
  let tries = 0;
  const work = (failures: number, error: Error) => {
    tries = 0;
    return bucket.asMember(async () => {
      tries += 1;
      if (tries <= failures) throw error;
      return "done";
    });
  };
  t.equal(await work(2, new NotMember("b00")), "done");
  t.equal(tries, 3);
  await t.rejects(work(3, new NotMember("b00")), /is being joined/);
  t.equal(tries, 3);
  await t.rejects(work(1, new Error("other")), /other/);
  t.equal(tries, 1);
});
