import t from "tap";
import { LIFETIMES } from "../../../../core/money/lifetimes.ts";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import { Membership } from "../../../../core/money/redis/membership.ts";
import type { MembershipEvents, Pulse } from "../../../../core/money/redis/membership-options.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { listOf } from "../../../../core/redis/reply.ts";
import { type RedisServer, startRedisCluster } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { connectedClient } from "./store.ts";

const EVENTS: MembershipEvents = {
  failed() {},
  moved() {},
  mustResend() {},
  expelled() {},
  async beginning() {},
  async joined() {},
  reaped() {},
  maintained() {},
  hasUncommitted: () => false,
  isCommitting: () => false,
};
const PULSE: Pulse = { isQuiet: false, server: "", beatAtMs: () => undefined, listed() {} };

/** The new owner of a slot has its epoch, but not its members yet: that must not look like a loss of data. */
t.test("a slot of which some keys have moved begins no new epoch", async (t) => {
  const cluster = await startRedisCluster();
  const client = await connectedClient(cluster.servers);
  t.teardown(async () => {
    client.disconnect();
    await cluster.stop();
  });
  const keys = new BucketKeys("t", 0);
  const options = { client, process: "p", times: LIFETIMES, machine: systemMachine };
  const counts = { edition: "1", firstEdition: async () => "1", covers: async () => true };
  const membership = new Membership(keys, { ...options, events: EVENTS, pulse: PULSE, counts });
  const isReady = async () => {
    await membership.step(performance.now());
    return membership.bucket.state === "ready";
  };
  await until("it is a member", isReady);
  const epoch = await client.call("GET", keys.epoch);
  const slot = String(await client.call("CLUSTER", "KEYSLOT", keys.epoch));
  const at = Math.floor((Number(slot) * 3) / 16_384);
  const [source, target] = [cluster.nodes[at], cluster.nodes[(at + 1) % 3]];
  if (!source || !target) throw new Error("there are three nodes");
  const idOf = async (node: RedisServer) => String(await node.call("CLUSTER", "MYID"));
  const [from, to] = [await idOf(source), await idOf(target)];
  const move = (key: string) =>
    source.call("MIGRATE", "127.0.0.1", `${target.port}`, key, "0", "5000");

  await target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", from);
  await source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", to);
  await move(keys.epoch);
  await membership.step(performance.now());
  t.equal(membership.bucket.state, "away");

  const rest = listOf(await source.call("CLUSTER", "GETKEYSINSLOT", slot, "100"));
  for (const key of rest) await move(String(key));
  for (const node of [target, source, ...cluster.nodes])
    await node.call("CLUSTER", "SETSLOT", slot, "NODE", to);
  await until("it is a member again", isReady);
  t.equal(await client.call("GET", keys.epoch), epoch);
});
