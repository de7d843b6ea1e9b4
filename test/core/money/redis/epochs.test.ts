import { randomUUID } from "node:crypto";
import t from "tap";
import { systemMachine } from "../../../../core/process/machine.ts";
import { bucketName } from "../../../../core/redis/buckets.ts";
import { posting } from "../../../support/posting.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { BUCKETS, emptyLedger, startStore, type TestStore } from "./store.ts";
import { SwitchedClient } from "./switched-client.ts";
import { World } from "./world.ts";

const FUNDED = 10_000n;
const LEASE_MS = 1_500;

interface Pair {
  readonly world: World;
  readonly server: RedisServer;
  readonly x: TestStore;
  readonly y: TestStore;
  /** The connection of gateway X. */
  readonly client: SwitchedClient;
}

/** Two gateways on one Redis, and account A. Ends with the check of both stores. */
async function inPair(
  body: (pair: Pair) => Promise<void>,
  leaseMs = LEASE_MS,
  check: "checked" | "unchecked" = "checked",
) {
  const server = await startRedisServer();
  const client = new SwitchedClient([server]);
  const world = new World({ servers: server.url, times: { leaseMs } });
  try {
    const x = await world.addGateway({ client });
    const y = await world.addGateway();
    await world.addAccount("A", FUNDED);
    await body({ world, server, x, y, client });
    if (check === "checked") await world.check();
  } finally {
    await world.dispose();
    await server.stop();
  }
}

/** The bucket of account A, and its epoch in Redis. */
async function epochOfA(server: RedisServer, { prefix }: TestStore) {
  const keys = (await server.call("KEYS", `${prefix}:*:w`)) as string[];
  const [, bucket = ""] = /\{(b\d\d)\}/.exec(keys[0] ?? "") ?? [];
  return { bucket, epoch: String(await server.call("GET", `${prefix}:{${bucket}}:epoch`)) };
}

const isServed =
  (world: World, { store }: TestStore) =>
  async () =>
    (await world.call(store, "A")) === "posted";

t.test(
  "the names of epochs rise, also if Redis and the ledger forget them, and none comes twice",
  async (t) =>
    inPair(async ({ world, server, x, y }) => {
      const names: string[] = [];
      const seen = async () => {
        await until("calls go on", isServed(world, x));
        const { bucket, epoch } = await epochOfA(server, x);
        t.equal(world.ledger.epochBooks.read(bucket).name, epoch);
        names.push(epoch);
      };
      await seen();
      await server.call("FLUSHALL");
      await seen();
      const { epochs } = world.ledger.epochBooks;
      const backup = new Map([...epochs].map(([bucket, epoch]) => [bucket, { ...epoch }]));
      await server.call("FLUSHALL");
      await seen();
      // The ledger is restored from a backup, without its last epochs.
      await world.quiet();
      for (const [bucket, epoch] of backup) epochs.set(bucket, epoch);
      world.ledger.epochBooks.members.clear();
      t.equal(await world.call(y.store, "A"), "posted");
      await until("its gateways write themselves again, in another epoch", async () => {
        return (await epochOfA(server, x)).epoch !== names.at(-1);
      });
      await seen();
      const counters = names.map((name) => Number.parseInt(name, 10));
      for (const [at, counter] of counters.entries()) t.equal(counter, at + counters[0]!);
      t.equal(new Set(names).size, names.length);
      for (const name of names) t.match(name, /^\d+-[0-9a-f]{8}$/);
    }),
);

t.test(
  "a gateway that cannot reach the ledger hands its posts over, and sells nothing until it can",
  async (t) =>
    inPair(async ({ world, server, x, y }) => {
      const reach = cutOff(world, x);
      t.equal(await world.call(x.store, "A"), "posted");
      const [callId = ""] = world.posted.keys();
      await server.call("FLUSHALL");
      await until("the other gateway commits that call", () => world.ledger.charges.has(callId));
      await until("calls go on at the other one", isServed(world, y));
      await until("it says why it sells nothing", () => {
        const health = x.store.health();
        return health.kind !== "ok" && health.cause === "ledger_unreachable";
      });
      t.equal(await world.call(x.store, "A"), "refused");
      // A call that runs there is posted.
      const callId2 = "c2";
      world.posted.set(callId2, 5);
      await x.store.post(posting({ callId: callId2, accountId: "A", costMicroVnd: 5 }));
      reach();
      await until("calls go on", isServed(world, x));
    }),
);

t.test(
  "a gateway that saw an epoch begin, and was cut off until the others had opened it, posts its calls again",
  async (t) =>
    inPair(async ({ world, server, x, y, client }) => {
      world.pause(x.store);
      t.equal(await world.call(x.store, "A"), "posted");
      const { looks } = client;
      await server.call("FLUSHALL");
      await until("it has seen the next epoch", async () => {
        const keys = (await server.call("KEYS", `${x.prefix}:*:joining`)) as string[];
        return keys.length > 0 && client.looks > looks + 3 * BUCKETS;
      });
      const { primary } = client;
      client.primary = undefined;
      await until("the other one goes on without it", isServed(world, y));
      client.primary = primary;
      world.resume(x.store);
      await until("calls go on", isServed(world, x));
    }),
);

t.test(
  "a gateway whose leases ended before it heard that it had entered enters again under another id",
  async (t) =>
    inPair(async ({ world, server, x, y, client }) => {
      t.equal(await world.call(x.store, "A"), "posted");
      await world.quiet();
      const keyed = async (what: string) => {
        const { bucket, epoch } = await epochOfA(server, x);
        return `${x.prefix}:{${bucket}}:${epoch}:${what}`;
      };
      client.unheard.add("enter");
      await server.call("FLUSHALL");
      await until("calls go on at the other one", isServed(world, y));
      await until("it has entered", async () => {
        const members = (await server.call("HKEYS", await keyed("procs"))) as string[];
        return members.includes(x.gateway);
      });
      const { primary } = client;
      client.primary = undefined;
      await until("its leases were ended", async () => {
        const reaped = (await server.call("SMEMBERS", await keyed("reaped"))) as string[];
        return reaped.includes(x.gateway);
      });
      client.unheard.clear();
      client.primary = primary;
      await until("calls go on", isServed(world, x));
    }),
);

t.test("an epoch that began without its server's script is not believed", async (t) =>
  inPair(async ({ world, server, x }) => {
    await until("calls go on", isServed(world, x));
    const before = await epochOfA(server, x);
    await server.call("SCRIPT", "FLUSH");
    await until("calls go on", isServed(world, x));
    t.not((await epochOfA(server, x)).epoch, before.epoch);
  }),
);

t.test("two gateways that find Redis empty begin one epoch a bucket", async (t) =>
  inPair(async ({ world, server, x, y }) => {
    await until("calls go on", isServed(world, x));
    const counters = () =>
      [...world.ledger.epochBooks.epochs.values()].map(({ name }) => Number.parseInt(name, 10));
    t.equal(counters().length, BUCKETS);
    const before = counters();
    await server.call("FLUSHALL");
    for (const gateway of [x, y]) await until("calls go on", isServed(world, gateway));
    t.strictSame(
      counters(),
      before.map((counter) => counter + 1),
    );
  }, 60_000),
);

t.test(
  "a gateway that took a name and could not begin its epoch takes the next at once",
  async (t) => {
    const server = await startRedisServer();
    const client = new SwitchedClient([server]);
    // Its clock stands: a wait for the owner of a name does not end.
    const machine = { ...systemMachine, monotonic: () => 1_000_000 };
    const prefix = `test-${randomUUID()}`;
    const ledger = emptyLedger(prefix);
    const { dispose } = await startStore({ servers: server.url, prefix, client, machine, ledger });
    t.teardown(() => Promise.all([dispose(), server.stop()]));
    const bucket = bucketName(0);
    client.unsent.add("begin");
    await server.call("FLUSHALL");
    await until("it took a name", async () =>
      (await ledger.epochs.read(bucket)).name.startsWith("2-"),
    );
    client.unsent.clear();
    await until("the next epoch begins", async () =>
      String(await server.call("GET", `${prefix}:{${bucket}}:epoch`)).startsWith("3-"),
    );
  },
);

t.test("a gateway that ends epochs again and again stops after 30, and says so", async (t) =>
  inPair(
    async ({ world, server, y }) => {
      await until("calls go on", isServed(world, y));
      const saysSo = () => {
        const health = y.store.health();
        return health.kind !== "ok" && health.cause === "epochs_end_too_often";
      };
      await until("it waits", async () => {
        await server.call("FLUSHALL");
        return saysSo();
      });
      t.match(y.store.health(), {
        reason: /this gateway ended 30 epochs of Redis within a minute/,
      });
    },
    60_000,
    "unchecked",
  ),
);

/** Cuts a gateway off from the ledger. Returns a function that lets it reach the ledger again. */
function cutOff(world: World, { store, gateway: own }: TestStore): () => void {
  const { epochs } = world.ledger;
  world.pause(store);
  let isCut = true;
  const enter = epochs.enter.bind(epochs);
  epochs.enter = (bucket, name, gateway) =>
    isCut && gateway.replace(/~\d+$/, "") === own
      ? Promise.reject(new Error("cut off by the test"))
      : enter(bucket, name, gateway);
  return () => {
    isCut = false;
    world.resume(store);
  };
}
