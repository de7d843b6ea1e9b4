import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { listOf } from "../../../../core/redis/reply.ts";
import { posting } from "../../../support/posting.ts";
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
    return each.flatMap((names) => listOf(names).map(String)).filter((name) => name !== ":closes");
  };
  t.teardown(async () => {
    await world.dispose();
    client.disconnect();
  });
  const [first, second] = [await world.addGateway(), await world.addGateway()];
  await body({ world, first, second, fields });
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
    await second.store.hold({ callId: randomUUID(), accountId: "held", keyId: "K", ...amounts });
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

t.test("nothing of a wallet is left: its limits, those of an earlier close, a movement", (t) =>
  inWorld(t, async ({ world, first, second, fields }) => {
    await world.addAccount("A", BigInt(WALLET));
    for (const name of ["day", "month"]) {
      const change = { accountId: "A", name, kind: "create", reason: null } as const;
      await world.ledger.changeLimit({ ...change, amountMicroVnd: 5_000n, reference: name });
    }
    t.equal(await world.call(first.store, "A", { limits: ["day", "month"] }), "posted");
    await world.quiet();
    // It reaches a wallet that is not loaded.
    const total = { creditVersion: 7, creditedMicroVnd: 70n, releasedCallIds: [] };
    await second.store.credit({ accountId: "B", ...total });
    await until("all is closed", async () => (await fields()).length === 0);
    t.equal(await world.call(second.store, "A", { hold: 4_500, limits: ["day"] }), "short");
    await world.check();
  }),
);

t.test("a call that holds nothing is charged, though its wallet was closed before", (t) =>
  inWorld(t, async ({ world, first, second, fields }) => {
    await world.addAccount("A", BigInt(WALLET));
    await first.store.load("A", () => world.ledger.wallet("A"));
    const call = { callId: randomUUID(), accountId: "A" };
    const held = { ...call, keyId: "K", amountMicroVnd: 0, floorMicroVnd: 0 };
    t.match(await first.store.hold(held), { kind: "held" });
    await until("it is closed", async () => (await fields()).length === 0);
    const raised = { ...call, totalMicroVnd: 1, floorMicroVnd: 1 };
    t.match(await first.store.extend(raised), { kind: "gone" });
    world.posted.set(call.callId, 700);
    await first.store.post(posting({ ...call, costMicroVnd: 700 }));
    await world.check();
    t.equal(await world.call(second.store, "A", { hold: 9_500 }), "short");
  }),
);
