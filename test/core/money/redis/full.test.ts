import t from "tap";
import { posting } from "../../../support/posting.ts";
import { startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { holdRequest } from "../wallet-fixtures.ts";
import { startStore } from "./store.ts";
import { SwitchedClient } from "./switched-client.ts";

const CALLS = 200;

t.test("a Redis at its maxmemory", async (t) => {
  const server = await startRedisServer();
  t.teardown(() => server.stop());
  const funded = async () => ({
    accountId: "A",
    balanceMicroVnd: 1_000_000n,
    creditVersion: 1,
    creditedMicroVnd: 1_000_000n,
  });
  const fill = async () => {
    const info = String(await server.call("INFO", "memory"));
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
    await server.call("CONFIG", "SET", "maxmemory", String(Math.floor(used * 0.9)));
  };
  const keysLike = async (pattern: string) => {
    const keys = await server.call("KEYS", pattern);
    return Array.isArray(keys) ? keys.map(String) : [];
  };
  const room = () => server.call("CONFIG", "SET", "maxmemory", "0");

  t.test("gives back holds and posted calls, and says that it is full", async (t) => {
    // Longer than the test: heartbeats at maxmemory keep the lease.
    const times = { leaseMs: 60_000 };
    const { store, prefix, dispose } = await startStore({ servers: server.url, times });
    await store.load("A", funded);
    t.equal((await store.hold(holdRequest("held", 10))).kind, "held");
    for (let n = 0; n < CALLS; n += 1) {
      await store.post(posting({ callId: `c${n}`, accountId: "A", costMicroVnd: 1 }));
    }
    await fill();
    const refused = await Promise.resolve(store.hold(holdRequest("more", 10))).catch(
      () => undefined,
    );
    t.not(refused?.kind, "held");
    t.match(store.health(), { cause: "redis_full", reason: /Redis is full \(maxmemory\)/ });

    const beats = async () => {
      const [key] = await keysLike(`${prefix}:*:beats`);
      return String(await server.call("HVALS", key ?? ""));
    };
    const before = await beats();
    await until("heartbeats go on", async () => (await beats()) !== before);
    await store.void("held", "A");
    t.equal((await store.balances("A"))?.heldMicroVnd, 0);
    const entries = await store.read(CALLS, 0);
    t.equal(entries.length, CALLS);
    await store.acknowledge(entries);
    t.equal((await store.balances("A"))?.uncommittedMicroVnd, 0);
    t.match(store.health(), { cause: "redis_full" });
    await room();
    await until("it has room", () => store.health().kind === "ok");
    t.equal((await store.hold(holdRequest("again", 10))).kind, "held");
    await dispose();
  });

  t.test("takes back money beside a hold of the same script, and refuses the hold", async (t) => {
    const { store, dispose } = await startStore({ servers: server.url });
    await store.load("A", funded);
    t.equal((await store.hold(holdRequest("held", 10))).kind, "held");
    await store.post(posting({ callId: "posted", accountId: "A", costMicroVnd: 1 }));
    const entries = await store.read(1, 0);
    await fill();
    const turn = [
      store.hold(holdRequest("before", 10)),
      store.void("held", "A"),
      store.acknowledge(entries),
      store.hold(holdRequest("after", 10)),
    ] as const;
    const [before, , , after] = await Promise.all(turn);
    for (const refused of [before, after]) t.match(refused, { kind: "unavailable", reason: /OOM/ });
    const left = { heldMicroVnd: 0, uncommittedMicroVnd: 0, availableMicroVnd: 999_999 };
    t.match(await store.balances("A"), left);
    await room();
    await dispose();
  });

  t.test("gives back posts whose replies were lost before it was full", async (t) => {
    const client = new SwitchedClient([server]);
    const { store, dispose } = await startStore({ client, servers: server.url });
    await store.load("A", funded);
    client.unheard.add("post");
    await store.post(posting({ callId: "unheard", accountId: "A", costMicroVnd: 1 }));
    await fill();
    client.unheard.clear();
    await store.post(posting({ callId: "refused", accountId: "A", costMicroVnd: 1 }));
    const found: (string | undefined)[] = [];
    await until("the process knows that Redis has it", async () => {
      const entries = await store.read(10, 10);
      found.push(...entries.map(({ posting }) => posting?.callId));
      await store.acknowledge(entries);
      return found.length > 0;
    });
    t.equal((await store.balances("A"))?.uncommittedMicroVnd, 0);
    await room();
    await until("the other is posted", async () => {
      const entries = await store.read(10, 10);
      found.push(...entries.map(({ posting }) => posting?.callId));
      await store.acknowledge(entries);
      return found.length > 1;
    });
    t.strictSame(found, ["unheard", "refused"]);
    await dispose();
  });

  t.test("lets a gateway leave, and another one end leases and finish outboxes", async (t) => {
    const times = { leaseMs: 1_000 };
    const dead = await startStore({ servers: server.url, times });
    const { prefix } = dead;
    const leaving = await startStore({ servers: server.url, prefix, times: { leaseMs: 1_000 } });
    const stays = await startStore({ servers: server.url, prefix, times: { leaseMs: 1_000 } });
    await dead.store.load("A", funded);
    await dead.store.hold(holdRequest("held", 10));
    await dead.store.post(posting({ callId: "posted", accountId: "A", costMicroVnd: 1 }));
    await leaving.store.post(posting({ callId: "left", accountId: "A", costMicroVnd: 1 }));
    await fill();
    await dead.die();
    await leaving.dispose();
    const found = new Set<string | undefined>();
    await until("both outboxes are committed", async () => {
      const entries = await stays.store.read(10, 10);
      for (const { posting } of entries) found.add(posting?.callId);
      await stays.store.acknowledge(entries);
      const orphans = await keysLike(`${prefix}:*:orphans`);
      return found.size === 2 && orphans.length === 0;
    });
    t.match(await stays.store.balances("A"), { heldMicroVnd: 0, uncommittedMicroVnd: 0 });
    await room();
    await stays.dispose();
  });
});
