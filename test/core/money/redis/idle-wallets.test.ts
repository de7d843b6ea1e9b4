import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { listOf } from "../../../../core/redis/reply.ts";
import { startRedis, type TestRedis } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { clientOf, type TestStore } from "./store.ts";
import { World } from "./world.ts";

const WALLET = 10_000;
const WHOLE = { hold: WALLET, cost: WALLET };

let redis: TestRedis;

t.before(async () => {
  redis = await startRedis();
});
t.teardown(() => redis.stop());

interface Parts {
  readonly world: World;
  /** Two gateways that close wallets soon. */
  readonly first: TestStore;
  readonly second: TestStore;
  /** Returns the names of all fields of all wallets. */
  readonly fields: () => Promise<string[]>;
  /** Runs a command that returns a list, on the keys of this world alone: `*` is its prefix. */
  readonly command: (name: string, ...args: string[]) => Promise<unknown[]>;
}

async function inWorld(t: Test, body: (parts: Parts) => Promise<void>): Promise<void> {
  const prefix = `test-${randomUUID()}`;
  const times = { walletIdleMs: 40, idleLookMs: 20 };
  const world = new World({ servers: redis.servers, prefix, times });
  const client = clientOf(redis.servers);
  client.connect(() => {});
  const fields = async () => {
    const keys = listOf(await client.call("KEYS", `${prefix}:*:w`));
    const each = await Promise.all(keys.map((key) => client.call("HKEYS", String(key))));
    const names = each.flatMap((names) => listOf(names).map(String));
    return names.filter((name) => name !== ":closes");
  };
  t.teardown(async () => {
    await world.dispose();
    client.disconnect();
  });
  const [first, second] = [await world.addGateway(), await world.addGateway()];
  const command = async (name: string, ...args: string[]) => {
    const reply = await client.call(name, ...args.map((arg) => arg.replace(/^\*/, `${prefix}*`)));
    return Array.isArray(reply) ? reply : [];
  };
  await body({ world, first, second, fields, command });
}

t.test("a wallet without a call is closed, and its next call loads it", (t) =>
  inWorld(t, async ({ world, first, second, fields }) => {
    await world.addAccount("A", BigInt(WALLET));
    for (const { store } of [first, second]) {
      t.equal(await world.call(store, "A"), "posted");
      await world.quiet();
      await until("it is closed", async () => (await fields()).length === 0);
    }
    t.equal(await world.call(first.store, "A", { hold: 9_000 }), "short");
    await world.check();
  }),
);

t.test("a wallet with a hold, or with a call that is not in the ledger, stays", (t) =>
  inWorld(t, async ({ world, first, second, fields }) => {
    for (const account of ["held", "posted", "idle"]) {
      await world.addAccount(account, BigInt(WALLET));
      await second.store.load(account, () => world.ledger.wallet(account));
    }
    const amounts = { amountMicroVnd: WALLET, floorMicroVnd: WALLET };
    const hold = { callId: randomUUID(), accountId: "held", keyId: "K", ...amounts };
    // On a busy machine the wallet may be closed before its hold.
    await until("it is held", async () => {
      await second.store.load("held", () => world.ledger.wallet("held"));
      return (await second.store.hold(hold)).kind === "held";
    });
    for (const { store } of [first, second]) world.pause(store);
    t.equal(await world.call(second.store, "posted", WHOLE), "posted");
    await until("the third is closed", async () =>
      (await fields()).every((name) => !name.startsWith("idle")),
    );
    for (const account of ["held", "posted"]) {
      const balances = await first.store.balances(account);
      t.equal(balances?.availableMicroVnd, 0, account);
    }
  }),
);

t.test("a load that read the ledger before the wallet was sold and closed reads it again", (t) =>
  inWorld(t, async ({ world, first, second, fields }) => {
    await world.addAccount("A", BigInt(WALLET));
    let readings = 0;
    await first.store.load("A", async () => {
      const wallet = await world.ledger.wallet("A");
      readings += 1;
      if (readings === 1) {
        t.equal(await world.call(second.store, "A", WHOLE), "posted");
        await world.quiet();
        await until("it is closed", async () => (await fields()).length === 0);
      }
      return wallet;
    });
    t.equal(readings, 2);
    t.equal(await world.call(first.store, "A", WHOLE), "short");
    await world.check();
  }),
);

t.test("nothing of a wallet is left: neither its purses nor a movement", (t) =>
  inWorld(t, async ({ world, first, second, fields }) => {
    await world.addAccount("A", BigInt(WALLET));
    const purse = (name: string) => ({ name, limitMicroVnd: 5_000 });
    const purses = ["day", "month"].map(purse);
    t.equal(await world.call(first.store, "A", { purses }), "posted");
    await world.quiet();
    // It reaches a wallet that is not loaded.
    const total = { creditVersion: 7, creditedMicroVnd: 70n };
    await second.store.credit({ accountId: "B", ...total });
    await until("all is closed", async () => (await fields()).length === 0);
    t.equal(await world.call(second.store, "A", { hold: 4_500, purses: [purse("day")] }), "short");
    await world.check();
  }),
);

const NOTHING = { accountId: "A", keyId: "K", amountMicroVnd: 0, floorMicroVnd: 0 };

t.test("a wallet with a hold of nothing stays", (t) =>
  inWorld(t, async ({ world, first, fields }) => {
    const load = (account: string) => first.store.load(account, () => world.ledger.wallet(account));
    for (const account of ["A", "idle"]) await world.addAccount(account, BigInt(WALLET));
    const callId = randomUUID();
    // On a busy machine it may be closed before it is held.
    await until("it is held", async () => {
      await load("A");
      return (await first.store.hold({ ...NOTHING, callId })).kind === "held";
    });
    await load("idle");
    const isClosed = async (account: string) =>
      (await fields()).every((name) => !name.startsWith(account));
    await until("the other is closed", () => isClosed("idle"));
    t.notOk(await isClosed("A"));
    await first.store.void(callId, "A");
    await until("it is closed too", () => isClosed("A"));
  }),
);

t.test("a reading of the ledger from an earlier epoch is not loaded into the next", (t) =>
  inWorld(t, async ({ world, first, second, command }) => {
    for (const account of ["A", "B"]) await world.addAccount(account, BigInt(WALLET));
    let readings = 0;
    await first.store.load("A", async () => {
      const wallet = await world.ledger.wallet("A");
      readings += 1;
      if (readings === 1) {
        t.equal(await world.call(second.store, "A", WHOLE), "posted");
        await world.quiet();
        await command("FLUSHALL");
        for (const { store } of [second, first]) {
          await until("calls go on", async () => {
            return (await world.call(store, "B", { cost: 0 }).catch(() => "")) === "voided";
          });
        }
      }
      return wallet;
    });
    t.equal(readings, 2);
    t.equal(await world.call(first.store, "A", WHOLE), "short");
    await world.check();
  }),
);
