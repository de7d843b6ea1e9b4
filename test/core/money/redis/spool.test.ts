import assert from "node:assert/strict";
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { RedisHoldStore } from "../../../../core/money/redis/store.ts";
import type { Disk } from "../../../../core/process/disk.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { recordedLog } from "../../../support/log.ts";
import { posting } from "../../../support/posting.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import type { TestStore } from "./store.ts";
import { World } from "./world.ts";

const REFUSED_LATE_MS = 30_000;
const DURABLE = ["--save", "", "--appendonly", "yes", "--appendfsync", "no"];

async function inWorld(body: (world: World, server: RedisServer) => Promise<void>): Promise<void> {
  const server = await startRedisServer({ settings: DURABLE });
  const world = new World({ servers: server.url });
  try {
    await world.addAccount("A", 10_000n);
    await body(world, server);
  } finally {
    server.signal("SIGCONT");
    await world.dispose();
    await server.stop();
  }
}

async function hold(world: World, store: RedisHoldStore, callId: string) {
  await store.load("A", () => world.ledger.wallet("A"));
  const amounts = { amountMicroVnd: 100, floorMicroVnd: 100 };
  return store.hold({ callId, accountId: "A", keyId: "K", ...amounts });
}

async function post(world: World, store: RedisHoldStore, callId: string): Promise<void> {
  world.posted.set(callId, 70);
  const posted = await store.post(posting({ callId, accountId: "A", costMicroVnd: 70 }));
  assert.deepEqual(posted, { chargedMicroVnd: 70, writtenOffMicroVnd: 0, duplicate: false });
}

/** Returns the files on the disk, as a kill of the process at this instant leaves them. */
function copyOf({ spoolFolder }: Pick<TestStore, "spoolFolder">): string {
  const copy = mkdtempSync(join(tmpdir(), "tollgate-spool-"));
  const isFile = (path: string) => !path.endsWith("lock");
  cpSync(spoolFolder, copy, { recursive: true, filter: isFile });
  return copy;
}

function segmentsIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".journal")).map((name) => join(folder, name));
}

t.test(
  "while redis is down running calls end, new ones are refused at once, and the log stays short",
  async (t) =>
    inWorld(async (world, server) => {
      const { log, lines } = recordedLog();
      const { store } = await world.addGateway({ log });
      for (let n = 0; n < 50; n += 1) await hold(world, store, `c${n}`);
      await server.kill();
      for (let n = 0; n < 50; n += 1) {
        await post(world, store, `c${n}`);
        const request = { callId: `n${n}`, accountId: "A", keyId: "K" };
        const held = await store.hold({ ...request, amountMicroVnd: 1, floorMicroVnd: 1 });
        t.equal(held.kind, "unavailable");
      }
      t.equal(store.uncommittedCalls(), 50);
      const oldest = posting({ callId: "c0", accountId: "A", costMicroVnd: 70 });
      const sinceMs = oldest.at + oldest.latencyMs;
      t.match(store.unsent(), [{ kind: "post", callId: "c0", microVnd: 70, sinceMs }]);
      t.ok(lines.length <= 2, `${lines.length} lines in the log`);
      await server.start();
      await world.check();
      t.strictSame(store.unsent(), []);
    }),
);

t.test("streams that end while redis is down share the syncs of a slow disk", async (t) => {
  const streams = 600;
  let blocking = 0;
  let syncs = 0;
  const { disk } = systemMachine;
  const slow: Disk = {
    ...disk,
    sync(fd) {
      blocking += 1;
      disk.sync(fd);
    },
    syncSoon(fd, done, folder) {
      syncs += 1;
      disk.syncSoon(fd, (error) => setTimeout(done, 40, error), folder);
    },
  };
  await inWorld(async (world, server) => {
    const { store } = await world.addGateway({ machine: { ...systemMachine, disk: slow } });
    await world.addAccount("B", 1_000_000n);
    await store.load("B", () => world.ledger.wallet("B"));
    const calls = Array.from({ length: streams }, (_, n) => {
      const amounts = { amountMicroVnd: 100, floorMicroVnd: 100 };
      const call = { callId: `c${n}`, accountId: "B" };
      return { call, held: store.hold({ ...call, keyId: "K", ...amounts }) };
    });
    for (const { held } of calls) assert.equal((await held).kind, "held");
    await server.kill();
    await until("the gateway notices", () => store.health().kind === "away");
    [blocking, syncs] = [0, 0];
    const posts = calls.map(({ call }) => {
      world.posted.set(call.callId, 70);
      return store.post(posting({ ...call, costMicroVnd: 70 }));
    });
    t.equal((await Promise.all(posts)).length, streams);
    t.equal(blocking, 0, "no sync blocks the event loop");
    t.ok(syncs <= 4, `${syncs} syncs for ${streams} posts`);
    await server.start();
    await world.check();
  });
});

t.test("a hold is refused if the spool may have no room for its post", async (t) =>
  inWorld(async (world) => {
    // Room for the posts of two calls, at 1 KB each.
    const { store } = await world.addGateway({ spoolBytesMax: 2_500 });
    await store.load("A", () => world.ledger.wallet("A"));
    const statuses: string[] = [];
    for (const callId of ["c1", "c2", "c3"]) statuses.push((await hold(world, store, callId)).kind);
    t.strictSame(statuses, ["held", "held", "unavailable"]);
    await post(world, store, "c1");
    t.equal((await hold(world, store, "c4")).kind, "held");
    await post(world, store, "c2");
    await store.void("c4", "A");
    await world.check();
  }),
);

t.test(
  "a frozen redis refuses a new call while it is frozen, and takes nothing for it",
  async (t) =>
    inWorld(async (world, server) => {
      const { store } = await world.addGateway();
      await hold(world, store, "c1");
      server.signal("SIGSTOP");
      const request = { callId: "c2", accountId: "A", keyId: "K" };
      // It stays frozen until this returns: a call that waits for Redis would wait forever.
      const held = await store.hold({ ...request, amountMicroVnd: 1, floorMicroVnd: 1 });
      t.equal(held.kind, "unavailable");
      await post(world, store, "c1");
      server.signal("SIGCONT");
      await world.check();
    }),
);

t.test(
  "spooled posts are charged once, though the gateway is killed, and killed again after their replay",
  async () =>
    inWorld(async (world, server) => {
      const first = await world.addGateway();
      for (const callId of ["c1", "c2", "c3"]) await hold(world, first.store, callId);
      await server.kill();
      for (const callId of ["c1", "c2", "c3"]) await post(world, first.store, callId);
      const left = copyOf(first);
      // The kill tore a fourth record.
      const [segment] = segmentsIn(left);
      assert.ok(segment);
      appendFileSync(segment, readFileSync(segment).subarray(0, 40));
      await world.kill(first);
      await server.start();
      // The next kill hits after the posts are in Redis, and before they are deleted here.
      const again = copyOf({ spoolFolder: left });
      const second = await world.addGateway({ spoolFolder: left });
      await world.check();
      await world.kill(second);
      // Redis forgets a committed call after two minutes; then only the ledger has it.
      const script =
        "for _, key in ipairs(redis.call('KEYS', '*:d:*')) do redis.call('DEL', key) end";
      await server.call("EVAL", script, "0");
      await world.addGateway({ spoolFolder: again });
      await world.check();
    }),
);

t.test("a gateway takes over the spools of dead gateways on its machine", async (t) =>
  inWorld(async (world, server) => {
    const { spoolFolder, store, ...first } = await world.addGateway();
    const second = await world.addGateway({ spoolFolder });
    for (const [at, one] of [store, second.store].entries()) await hold(world, one, `c${at}`);
    await server.kill();
    for (const [at, one] of [store, second.store].entries()) await post(world, one, `c${at}`);
    const left = copyOf(second);
    await world.kill({ spoolFolder, store, ...first });
    await world.kill(second);
    await server.start();
    const { store: third } = await world.addGateway({ spoolFolder: left });
    await world.check();
    t.equal(third.uncommittedCalls(), 0);
  }),
);

t.test(
  "a key that is revoked while redis is down is refused once it is back, without a second revocation",
  async (t) =>
    inWorld(async (world, server) => {
      const { store } = await world.addGateway();
      const other = await world.addGateway();
      await hold(world, store, "c1");
      await server.kill();
      await t.rejects(store.revoke("K", "A"));
      await server.start();
      // Until then a hold returns that Redis is unreachable, or that the wallet is not loaded.
      const deadline = performance.now() + REFUSED_LATE_MS;
      let kind = "";
      for (let n = 2; kind !== "revoked"; n += 1) {
        t.ok(performance.now() < deadline, `never refused, at last ${kind}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
        ({ kind } = await hold(world, other.store, `c${n}`).catch(() => ({ kind: "away" })));
        if (kind === "held") await other.store.void(`c${n}`, "A");
      }
      await store.void("c1", "A");
      await world.check();
    }),
);

t.test("an outage without calls is logged too, once", async (t) =>
  inWorld(async (world, server) => {
    const { log, lines } = recordedLog();
    await world.addGateway({ log });
    await server.kill();
    const logged = () => lines.filter(({ msg }) => String(msg).startsWith("cannot reach Redis"));
    const deadline = performance.now() + REFUSED_LATE_MS;
    while (logged().length === 0) {
      t.ok(performance.now() < deadline, "never logged");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await server.start();
    await world.check();
    const isBack = () => lines.some(({ msg }) => msg === "Redis is reachable again");
    await until("its end is logged", isBack);
    t.equal(logged().length, 1);
  }),
);
