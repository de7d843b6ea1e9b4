import t from "tap";
import type { Bucket } from "../../../../core/money/redis/bucket.ts";
import { RedisKeptProgress } from "../../../../core/money/redis/kept-progress.ts";
import { NotMember } from "../../../../core/money/redis/session.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";

const PROGRESS = { generation: 3, commits: new Map([["w", 5]]) };

t.test("counts are read only from a bucket that has lost no data before", async (t) => {
  const asked: string[] = [];
  let state = "joining";
  let isLost = true;
  const client = {
    run: async () => {
      asked.push("read");
      return ["generation", "3", "w", "5"];
    },
  } as unknown as RedisCommands;
  const first = {
    get state() {
      return state;
    },
    run: async (operation: string) => {
      asked.push(operation);
      if (isLost) throw new NotMember("b00");
    },
  } as unknown as Bucket;
  const kept = new RedisKeptProgress(client, "key", first);
  const keep = () => kept.keep(PROGRESS, new Map());

  await t.rejects(keep(), NotMember, "the bucket is not joined yet");
  t.strictSame(asked, []);
  state = "ready";
  await t.rejects(keep(), NotMember, "the bucket lost data, and no round has found it yet");
  t.strictSame(asked.splice(0), ["read", "noop"]);
  isLost = false;
  t.strictSame(await keep(), PROGRESS);
  t.strictSame(asked.splice(0), ["read", "noop"]);
  // It knows the counts now: if the bucket loses them, it keeps them again.
  state = "joining";
  t.strictSame(await keep(), PROGRESS);
  t.strictSame(asked, ["read"]);
});
