import t from "tap";
import { RedisKeptProgress } from "../../../../core/money/redis/kept-progress.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import { startRedis } from "../../../support/redis.ts";
import { connectedClient } from "./store.ts";

const NONE = new Map<string, number>();
const states: ("away" | "ready")[] = ["ready", "ready"];
const buckets = states.map((_, at) => ({
  keys: new BucketKeys("t", at),
  get state() {
    return states[at] ?? "away";
  },
}));

t.test("the highest counts of the ledger's commits stay in each bucket", async (t) => {
  const redis = await startRedis();
  const client = await connectedClient(redis.servers);
  t.teardown(async () => {
    client.disconnect();
    await redis.stop();
  });
  const kept = new RedisKeptProgress(client, buckets);
  const counts = (generation: number, ...commits: [string, number][]) => ({
    generation,
    commits: new Map(commits),
  });
  const read = () => new RedisKeptProgress(client, buckets).keep(counts(0), NONE);
  t.strictSame(await kept.keep(counts(0, ["a", 3], ["b", 1]), NONE), counts(0, ["a", 3], ["b", 1]));
  await kept.raise(counts(0, ["a", 2], ["c", 7]));
  const all = counts(0, ["a", 3], ["b", 1], ["c", 7]);
  t.strictSame(await read(), all, "a lower count changes nothing");
  await client.call("DEL", buckets[0]?.keys.ledger ?? "");
  t.strictSame(await read(), all, "a bucket that is lost has them from the others");
  t.strictSame(await kept.keep(counts(0), new Map([["c", 6]])), all, "c has risen since");
  const dropped = await kept.keep(counts(0), new Map([["c", 7]]));
  t.strictSame(dropped, counts(0, ["a", 3], ["b", 1]));
  t.strictSame(await kept.keep(counts(1, ["d", 1]), NONE), counts(1, ["d", 1]));
  await kept.raise(counts(0, ["a", 9]));
  t.strictSame(await read(), counts(1, ["d", 1]), "counts of an earlier generation are void");
});

t.test("counts are kept while some nodes of a cluster do not reply", async (t) => {
  const away = new Set<string>();
  const sent: string[] = [];
  const client = {
    async run(_: unknown, [key = ""]: readonly string[]) {
      sent.push(key);
      if (away.has(key)) throw new Error("away");
      return ["generation", "0", "a", "3"];
    },
  };
  const kept = new RedisKeptProgress(client as never, buckets);
  const progress = { generation: 0, commits: new Map([["a", 3]]) };
  const [first, second] = buckets.map(({ keys }) => keys.ledger);
  away.add(first ?? "");
  t.strictSame(await kept.keep(progress, NONE), progress);
  away.add(second ?? "");
  await t.rejects(kept.keep(progress, NONE), /away/);
  await t.rejects(kept.raise(progress), /away/);
  sent.length = 0;
  states[0] = "away";
  await t.rejects(kept.raise(progress), /away/);
  t.strictSame(sent, [second], "a bucket that is known to be down is not asked");
  states[1] = "away";
  await t.rejects(kept.raise(progress), /away/);
  t.strictSame(sent.slice(1), [first, second], "unless all are");
});
