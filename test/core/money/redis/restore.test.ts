import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { CommitCounts, MemoryHistory } from "../../../support/commit-counts.ts";
import { startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { emptyLedger, startStore } from "./store.ts";
import { SwitchedClient } from "./switched-client.ts";
import { World } from "./world.ts";

/** Longer than an operation waits, in all its attempts, for a bucket that is being joined. */
const LEASE_MS = 4_500;
/** Several heartbeats: each gateway has noticed that the epoch ended. */
const NOTICED_MS = 200;

t.test(
  "wallets load as soon as a restore is done, though a dead gateway's lease delays it",
  async (t) => {
    const server = await startRedisServer();
    const times = { leaseMs: LEASE_MS };
    const world = new World({ servers: server.url, times });
    try {
      const { store } = await world.addGateway();
      const dead = await world.addGateway();
      await world.addAccount("A", 5_000n);
      t.equal(await world.call(store, "A"), "posted");
      await world.quiet();
      await world.kill(dead);
      t.strictSame(await store.restoreFromLedger(), { kind: "restored" });
      await delay(NOTICED_MS);
      t.equal(await store.balances("A"), undefined, "no wallet is loaded yet");
      t.equal(await world.call(store, "A"), "posted");
    } finally {
      await world.dispose();
      await server.stop();
    }
  },
);

t.test(
  "a ledger that went back is noticed, though Redis lost the counts while a comparison waited for it",
  async (t) => {
    const server = await startRedisServer();
    t.teardown(() => server.stop());
    let counts = new CommitCounts();
    const start = (history: MemoryHistory, prefix?: string) =>
      startStore({
        servers: server.url,
        ledger: { ...emptyLedger("restore"), history },
        ...(prefix && { prefix }),
      });
    const history = new MemoryHistory(() => counts);
    const first = await start(history);
    await history.commit();
    let cut = (_: Error) => {};
    let isWaiting = false;
    history.read = () => {
      isWaiting = true;
      return new Promise((_, reject) => {
        cut = reject;
      });
    };
    await until("a comparison waits for the ledger", () => isWaiting);
    await server.call("FLUSHALL");
    const isKept = async () => String(await server.call("KEYS", `${first.prefix}:*:ledger`)) !== "";
    await until("the counts are kept again", isKept);
    counts = new CommitCounts();
    const died = first.die();
    cut(new Error("the ledger is down"));
    await died;
    const second = await start(new MemoryHistory(() => counts), first.prefix);
    t.match(second.store.health(), { cause: "ledger_went_back" });
    await second.dispose();
  },
);

t.test("what a gateway read before it was frozen is not applied after a restore", async (t) => {
  const server = await startRedisServer();
  const world = new World({ servers: server.url });
  try {
    const client = new SwitchedClient([server]);
    const frozen = (await world.addGateway({ client })).store;
    const other = (await world.addGateway()).store;
    await world.addAccount("A", 5_000n);
    const purses = [{ name: "day", limitMicroVnd: 3_000 }];
    t.equal(await world.call(frozen, "A", { purses }), "posted");
    await world.quiet();
    // The ledger had these, and lost them.
    const lost = {
      accountId: "A",
      creditVersion: 9,
      creditedMicroVnd: 9_000n,
    };
    let thaw = () => {};
    client.thawed = new Promise((resolve) => {
      thaw = resolve;
    });
    t.strictSame(await other.restoreFromLedger(), { kind: "restored" });
    t.equal(await world.call(other, "A", { purses }), "posted");
    thaw();
    await t.rejects(frozen.credit(lost), { name: "NotMember" });
    const credit = async () =>
      frozen.credit({ ...lost, creditVersion: 1, creditedMicroVnd: 5_000n });
    await until("the gateway is back", () => credit().catch(() => false));
    await world.check();
    t.equal((await other.balances("A", "day"))?.availableMicroVnd, -1_400);
  } finally {
    await world.dispose();
    await server.stop();
  }
});

/** Copies all keys whose names begin with ARGV[1]: to names that begin with ARGV[2], or back. */
const COPY = `
  for _, key in ipairs(redis.call('KEYS', ARGV[2] .. '*')) do redis.call('DEL', key) end
  for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
    redis.call('COPY', key, ARGV[2] .. string.sub(key, #ARGV[1] + 1))
  end`;

t.test(
  "wallets of before a restore do not come back with a Redis that loses the end of their epoch",
  async (t) => {
    const server = await startRedisServer();
    // Nothing looks at the buckets between the end of their epochs and the fail-over.
    const times = { heartbeatMs: 1_000, leaseMs: 10_000 };
    const world = new World({ servers: server.url, times });
    try {
      const { store, prefix } = await world.addGateway();
      const other = await world.addGateway();
      await world.addAccount("A", 5_000n);
      t.equal(await world.call(store, "A"), "posted");
      t.equal(await world.call(other.store, "A"), "posted");
      await world.quiet();
      // The ledger goes back to a time before the account had money.
      world.ledger.addAccount("A");
      const { history } = world.ledger;
      const begin = history.beginGeneration.bind(history);
      await server.call("EVAL", COPY, "0", `${prefix}:`, "saved:");
      history.beginGeneration = async (after) => {
        await server.call("EVAL", COPY, "0", "saved:", `${prefix}:`);
        await server.call("SAVE");
        await server.kill();
        await server.start();
        history.beginGeneration = begin;
        await begin(after);
      };
      // The operator tries again while Redis is down.
      const restored = () =>
        store.restoreFromLedger().then(
          ({ kind }) => kind === "restored",
          () => false,
        );
      await until("the wallets are restored", restored);
      await until("wallets load", async () => (await world.call(store, "A")) === "short");
      await until("the other gateway sees the restore", async () => {
        return (await world.call(other.store, "A")) === "short";
      });
      t.match(await store.balances("A"), { availableMicroVnd: 0, heldMicroVnd: 0 });
    } finally {
      await world.dispose();
      await server.stop();
    }
  },
);
