import t from "tap";
import { debitOf } from "../../../../core/money/debit.ts";
import type { DebitEntry } from "../../../../core/money/outbox-entry.ts";
import { loadWithPurses } from "../../../../core/money/purse.ts";
import type { RedisHoldStore } from "../../../../core/money/redis/store.ts";
import { posting } from "../../../support/posting.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { endLeases } from "./store.ts";
import { SwitchedClient } from "./switched-client.ts";
import { World } from "./world.ts";

const COST = 70;
/** Has room for two holds, which need 1,024 bytes each, and not for the post. */
const SPOOL_BYTES_MAX = 3_000;
const POSTING = posting({
  callId: "c",
  accountId: "A",
  costMicroVnd: COST,
  model: "m".repeat(SPOOL_BYTES_MAX),
  purses: ["b"],
});
const PURSE = { name: "b", limitMicroVnd: 5_000 };

let server: RedisServer;

t.before(async () => {
  server = await startRedisServer();
});
t.teardown(() => server.stop());

interface Scene {
  readonly world: World;
  readonly client: SwitchedClient;
  readonly store: RedisHoldStore;
  readonly prefix: string;
}

/** Runs `body` after call `c` held money of wallet A and of its purse b. Then checks every µđ. */
async function inScene(body: (scene: Scene) => Promise<void>): Promise<void> {
  const world = new World({ servers: server.url });
  const client = new SwitchedClient([server]);
  try {
    await world.addAccount("A", 10_000n);
    const gateway = await world.addGateway({ client, spoolBytesMax: SPOOL_BYTES_MAX });
    const { store, prefix } = gateway;
    await loadWithPurses(store, world.ledger, "A", [PURSE.name]);
    const amounts = { amountMicroVnd: 100, floorMicroVnd: 100 };
    const hold = { callId: "c", accountId: "A", keyId: "K", purses: [PURSE], ...amounts };
    t.equal((await store.hold(hold)).kind, "held");
    await body({ world, client, store, prefix });
    await world.check();
    const entries = await server.call("KEYS", `${prefix}:*:o:*`);
    for (const outbox of Array.isArray(entries) ? entries.map(String) : []) {
      t.equal(await server.call("XLEN", outbox), 0);
    }
  } finally {
    await world.dispose();
  }
}

/** Posts the call: its spool is full, and the post or its reply is lost. */
async function postUnheard({ client, store }: Scene, lost: "unsent" | "unheard"): Promise<void> {
  client[lost].add("post");
  await t.rejects((async () => store.post(POSTING))(), /is full/);
  client[lost].clear();
}

t.test("a call that got an error is not charged, though Redis took its post", () =>
  inScene(async (scene) => {
    await postUnheard(scene, "unheard");
    await scene.store.void("c", "A");
    t.match(await scene.store.post(POSTING), { chargedMicroVnd: 0, duplicate: true });
  }),
);

t.test("neither if the void does not arrive, and its reply is lost after that", () =>
  inScene(async (scene) => {
    const { client, store } = scene;
    await postUnheard(scene, "unheard");
    client.unsent.add("void");
    await store.void("c", "A");
    const { looks } = client;
    await until("some rounds have tried", async () => client.looks > looks + 20);
    client.unheard.add("void");
    client.unsent.clear();
    const held = async () =>
      Number((await store.balances("A").catch(() => undefined))?.heldMicroVnd);
    await until("the void is carried out", async () => (await held()) === 0);
    client.unheard.clear();
  }),
);

t.test("a post that arrives after its void charges nothing", () =>
  inScene(async (scene) => {
    const { store, prefix, world } = scene;
    await postUnheard(scene, "unsent");
    await store.void("c", "A");
    const results = async () => await server.call("KEYS", `${prefix}:*:d:c`);
    await until("the void is carried out", async () => String(await results()) !== "");
    const { store: other } = await world.addGateway();
    t.match(await other.post(POSTING), { chargedMicroVnd: 0, duplicate: true });
  }),
);

t.test("a call that is posted again is charged once", () =>
  inScene(async (scene) => {
    const { store, world } = scene;
    await postUnheard(scene, "unheard");
    world.posted.set("c", COST);
    const posted = async () => store.post(POSTING);
    await until("it is posted", () =>
      posted().then(
        (end) => end.chargedMicroVnd === COST,
        () => false,
      ),
    );
    await store.void("c", "A");
  }),
);

t.test("a void after another gateway took the outbox over leaves the charge to it", () =>
  inScene(async (scene) => {
    const { client, store, prefix, world } = scene;
    world.posted.set("c", COST);
    client.unsent.add("void");
    await postUnheard(scene, "unheard");
    await store.void("c", "A");
    await endLeases(server.url, prefix);
    await world.addGateway();
    client.unsent.clear();
  }),
);

t.test("a call that another gateway committed is not charged again, though Redis forgot it", () =>
  inScene(async (scene) => {
    const { store, prefix, world } = scene;
    await postUnheard(scene, "unheard");
    await endLeases(server.url, prefix);
    world.posted.set("c", COST);
    await world.addGateway();
    await until("the other commits it", () => world.ledger.charges.has("c"));
    const [result] = [await server.call("KEYS", `${prefix}:*:d:c`)].flat();
    // As after two minutes.
    await server.call("DEL", String(result));
    const hold = { callId: "n", accountId: "A", keyId: "K", amountMicroVnd: 1, floorMicroVnd: 1 };
    await until("the first is back", async () => (await store.hold(hold)).kind === "held");
    await store.void("n", "A");
    const fits = { ...POSTING, model: "sim" };
    t.match(await store.post(fits), { chargedMicroVnd: COST });
  }),
);

function debitAt(nowMs: number): DebitEntry {
  const amounts = { amountMicroVnd: -4_000n, reference: "taken", reason: null } as const;
  return debitOf({ accountId: "A", kind: "adjustment", ...amounts }, nowMs);
}

t.test("a debit that arrives after its gateway asked for it takes nothing", () =>
  inScene(async ({ client, store, world }) => {
    await store.void("c", "A");
    const nowMs = Date.now();
    for (const atMs of [nowMs, nowMs + 1]) {
      client.late.add("post");
      await t.rejects((async () => store.debit(debitAt(atMs)))());
      client.late.clear();
      await until("its gateway has asked", () => store.unsent().length === 0);
    }
    await client.arrive();
    t.match(await store.balances("A"), { availableMicroVnd: 10_000, uncommittedMicroVnd: 0 });
    t.match(await store.debit(debitAt(nowMs)), { kind: "unavailable", reason: /send it again/ });
    // An operator who sends it again gets it at once.
    t.match(await store.debit(debitAt(nowMs + 2)), { kind: "posted", duplicate: false });
    await until("the ledger has it", async () => {
      const wallet = await world.ledger.wallet("A");
      return wallet?.balanceMicroVnd === 6_000n;
    });
  }),
);

t.test("a debit that a client sends twice is committed by its gateway", () =>
  inScene(async ({ client, store, world }) => {
    await store.void("c", "A");
    client.twice.add("post");
    t.match(await store.debit(debitAt(Date.now())), { kind: "posted" });
    await until("the ledger has it", async () => {
      const wallet = await world.ledger.wallet("A");
      return wallet?.balanceMicroVnd === 6_000n;
    });
  }),
);
