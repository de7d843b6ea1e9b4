import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { recordedLog } from "../../../support/log.ts";
import { callIdOf, posting } from "../../../support/posting.ts";
import { startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { connectedClient, endLeases, startStore, type TestStore } from "./store.ts";
import { World } from "./world.ts";

/** `BACKLOG=1000000` for the full test, which takes minutes. */
const BACKLOG = Number(process.env["BACKLOG"] ?? 10_000);
const BATCH = 500;
const GROWTH_BYTES_MAX = 4 * 1024 * 1024;

t.test(
  "the outbox of a dead gateway is committed in batches, each entry once, without growing",
  async (t) => {
    const server = await startRedisServer();
    const limits = { outboxEntriesMax: BACKLOG + BATCH, times: { leaseMs: 5_000 } };
    const first = await startStore({ servers: server.url, ...limits });
    await first.store.load("A", async () => ({
      accountId: "A",
      balanceMicroVnd: BigInt(BACKLOG),
      creditVersion: 1,
      creditedMicroVnd: BigInt(BACKLOG),
    }));
    for (let posted = 0; posted < BACKLOG; posted += BATCH) {
      const calls = Array.from({ length: BATCH }, (_, n) =>
        first.store.post(posting({ callId: `c${posted + n}`, accountId: "A", costMicroVnd: 1 })),
      );
      await Promise.all(calls);
    }
    t.equal(first.store.uncommittedCalls(), BACKLOG);
    await first.die();
    await endLeases(server.url, first.prefix);

    const second = await startStore({ servers: server.url, ...limits, prefix: first.prefix });
    const timesCommitted = new Uint8Array(BACKLOG);
    let committed = 0;
    let before = 0;
    for (;;) {
      const entries = await second.store.read(BATCH, 0);
      if (entries.length === 0) break;
      t.ok(entries.length <= BATCH);
      for (const entry of entries) timesCommitted[Number(callIdOf(entry)?.slice(1))]! += 1;
      await second.store.acknowledge(entries);
      committed += entries.length;
      if (before === 0 && committed > BACKLOG / 10) before = liveBytes();
    }
    t.ok(timesCommitted.every((times) => times === 1));
    const grown = liveBytes() - before;
    t.ok(grown < GROWTH_BYTES_MAX, `${grown} bytes more`);
    t.strictSame(await second.store.balances("A"), {
      availableMicroVnd: 0,
      heldMicroVnd: 0,
      uncommittedMicroVnd: 0,
    });
    await second.dispose();
    await server.stop();
  },
);

t.test("an outbox that cannot be read delays no other, and is logged", async (t) => {
  const server = await startRedisServer();
  const wallet = {
    accountId: "A",
    balanceMicroVnd: 100n,
    creditVersion: 1,
    creditedMicroVnd: 100n,
  };
  const post = ({ store }: TestStore, callId: string) =>
    store.post(posting({ callId, accountId: "A", costMicroVnd: 1 }));
  const dead = await startStore({ servers: server.url });
  await dead.store.load("A", async () => wallet);
  await post(dead, "c1");
  await dead.die();
  await endLeases(server.url, dead.prefix);
  const client = await connectedClient(server.url);
  const [outbox = ""] = (await client.call("KEYS", `${dead.prefix}:*:o:*`)) as string[];
  await client.call("RENAME", outbox, "aside");
  await client.call("SET", outbox, "no stream");

  const { log, lines } = recordedLog();
  const next = await startStore({ servers: server.url, prefix: dead.prefix, log });
  const isLogged = () => lines.some(({ msg }) => /cannot read the outbox/.test(String(msg)));
  await until("it is logged", async () => {
    await next.store.read(10, 0);
    return isLogged();
  });
  await post(next, "c2");
  t.strictSame((await next.store.read(10, 0)).map(callIdOf), ["c2"]);
  await client.call("RENAME", "aside", outbox);
  t.strictSame((await next.store.read(10, 0)).map(callIdOf).sort(), ["c1", "c2"]);
  client.disconnect();
  await next.dispose();
  await server.stop();
});

t.test("the outbox of a dead gateway is taken from one that does not commit it", async (t) => {
  const server = await startRedisServer();
  const world = new World({ servers: server.url });
  // Looks first for the dead one, and does not reach the ledger.
  const cutOff = await world.addGateway({ times: { leaseMs: 1_000 } });
  const healthy = await world.addGateway({ times: { leaseMs: 4_000 } });
  const dead = await world.addGateway();
  await world.addAccount("A", 100_000n);
  const posts = async ({ store }: TestStore) => (await world.call(store, "A")) === "posted";
  await until("calls are served", () => posts(healthy));
  world.pause(cutOff.store);
  world.pause(dead.store);
  await until("the last call is posted", () => posts(dead));
  const callId = [...world.posted.keys()].at(-1) ?? "";
  await world.kill(dead);
  const client = await connectedClient(server.url);
  const orphans = async () => ((await client.call("KEYS", "*:orphans")) as string[])[0] ?? "none";
  const claimer = async () => ((await client.call("HVALS", await orphans())) as string[])[0];
  await until("it is claimed", async () => Boolean(await claimer()));
  const first = await claimer();
  // As its claimer does that commits one entry after the other, for more than a lease.
  const [orphan = ""] = (await client.call("HKEYS", await orphans())) as string[];
  const [outbox = ""] = (await client.call("KEYS", `*:${orphan.replace("|", ":o:")}`)) as string[];
  const [[, fields]] = (await client.call("XRANGE", outbox, "-", "+")) as [[string, string[]]];
  for (let turn = 0; turn < 30; turn += 1) {
    const copy = await client.call("XADD", outbox, "*", ...fields);
    await sleep(100);
    await client.call("XDEL", outbox, String(copy));
    await sleep(100);
    t.equal(await claimer(), first);
  }
  await until("the other commits it", () => world.ledger.charges.has(callId));
  t.not(await claimer(), first);
  client.disconnect();
  await world.dispose();
  await server.stop();
});

/** Heap size after a full collection. */
function liveBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  return process.memoryUsage().heapUsed;
}
