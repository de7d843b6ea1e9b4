import t from "tap";
import { listOf } from "../../../../core/redis/reply.ts";
import { type RedisServer, startRedisCluster } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { BUCKETS, connectedClient } from "./store.ts";
import { World } from "./world.ts";

/** While a slot moves key by key, a node that fails may lose some of them. So its epoch ends, and no wallet of it stays. */
t.test("a bucket whose slot moves gets a new epoch, and loses no post", async (t) => {
  const cluster = await startRedisCluster();
  const client = await connectedClient(cluster.servers);
  const world = new World({ servers: cluster.servers });
  t.teardown(async () => {
    client.disconnect();
    await world.dispose();
    await cluster.stop();
  });
  const { store, prefix } = await world.addGateway();
  await world.addAccount("A", 10_000n);
  t.equal(await world.call(store, "A"), "posted");
  world.pause(store);
  t.equal(await world.call(store, "A"), "posted");
  // One after another: a node that is being connected to refuses a second command.
  const epochs = async () => {
    const found: unknown[] = [];
    for (let at = 0; at < BUCKETS; at += 1)
      found.push(await client.call("GET", `${prefix}:{b0${at}}:epoch`));
    return found;
  };
  const before = await epochs();
  const lists = await Promise.all(cluster.nodes.map((node) => node.call("KEYS", `${prefix}:*:w`)));
  const wallets = String(lists.flatMap((keys) => listOf(keys))[0]);
  const slot = String(await client.call("CLUSTER", "KEYSLOT", wallets));
  const at = lists.findIndex((keys) => listOf(keys).includes(wallets));
  const [source, target] = [cluster.nodes[at], cluster.nodes[(at + 1) % 3]];
  if (!source || !target) throw new Error("there are three nodes");
  const idOf = async (node: RedisServer) => String(await node.call("CLUSTER", "MYID"));
  const [from, to] = [await idOf(source), await idOf(target)];
  await target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", from);
  await source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", to);
  for (const key of listOf(await source.call("CLUSTER", "GETKEYSINSLOT", slot, "1000")))
    await source.call("MIGRATE", "127.0.0.1", `${target.port}`, String(key), "0", "5000");
  for (const node of [target, source, ...cluster.nodes])
    await node.call("CLUSTER", "SETSLOT", slot, "NODE", to);
  world.resume(store);
  await until("calls go on", async () => {
    return (await world.call(store, "A").catch(() => "refused")) === "posted";
  });
  await world.check();
  const after = await epochs();
  const moved = Number(/\{b0(\d)\}/.exec(wallets)?.[1]);
  for (const [index, epoch] of after.entries()) {
    if (index === moved) t.not(epoch, before[index], `bucket ${index}`);
    else t.equal(epoch, before[index], `bucket ${index}`);
  }
});
