import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import t from "tap";
import { listOf } from "../../../../core/redis/reply.ts";
import { startRedisCluster, startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { World } from "./world.ts";

const WALLET = 1_000;
const HELD = 300;
const CHARGED = 200;

/**
 * A slot of a cluster moves key by key. If its node loses data on the way, some keys are left at the other node, and the
 * counts of operations may be among them.
 */
for (const [part, pattern] of [
  ["its wallets", "*:w"],
  ["its holds", "*:holds"],
  ["an outbox", "*:o:*"],
] as const) {
  t.test(`a bucket of which a server has not ${part} begins a new epoch`, async () => {
    const settings = ["--save", "", "--appendonly", "yes"];
    const start = () => startRedisServer({ settings, cluster: true });
    const cluster = await startRedisCluster({ start });
    const world = new World({ servers: cluster.servers });
    try {
      const { store, prefix } = await world.addGateway();
      await world.addAccount("A", BigInt(WALLET));
      assert.equal(await world.call(store, "A", { hold: 1, cost: 0 }), "voided");
      world.pause(store);
      assert.equal(await world.call(store, "A", { hold: CHARGED, cost: CHARGED }), "posted");
      const callId = randomUUID();
      const amounts = { amountMicroVnd: HELD, floorMicroVnd: HELD };
      const call = { callId, accountId: "A", keyId: "K", ...amounts, limits: [] };
      assert.equal((await store.hold(call)).kind, "held");
      const lists = await Promise.all(
        cluster.nodes.map((node) => node.call("KEYS", `${prefix}:${pattern}`)),
      );
      const at = lists.findIndex((keys) => listOf(keys).length > 0);
      const [server, keys] = [cluster.nodes[at], listOf(lists[at]).map(String)];
      assert.ok(server);
      assert.equal(await server.call("DEL", ...keys), 1);
      await server.kill();
      await server.start();
      world.resume(store);
      await until(
        "calls go on",
        async () => (await world.call(store, "A", { hold: 1, cost: 0 })) === "voided",
      );
      await store.void(callId, "A");
      await world.check();
      const rest = WALLET - CHARGED;
      assert.equal(await world.call(store, "A", { hold: rest, cost: rest }), "posted");
      assert.equal(await world.call(store, "A", { hold: 1, cost: 1 }), "short");
      await world.check();
    } finally {
      await world.dispose();
      await cluster.stop();
    }
  });
}
