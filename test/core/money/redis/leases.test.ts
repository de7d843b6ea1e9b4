import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import type { LedgerEpochs } from "../../../../core/money/ledger-epochs.ts";
import { recordedLog } from "../../../support/log.ts";
import { callIdOf, posting } from "../../../support/posting.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { emptyLedger, startStore, type TestStore } from "./store.ts";
import { SwitchedClient } from "./switched-client.ts";

const LEASE_MS = 1_000;
const TIMEOUT_MS = 30_000;
const WALLET = {
  accountId: "A",
  balanceMicroVnd: 1_000n,
  creditVersion: 1,
  creditedMicroVnd: 1_000n,
};
const PURSE = { ...WALLET, balanceMicroVnd: 0n };

let server: RedisServer;

t.before(async () => {
  server = await startRedisServer();
});

t.teardown(() => server.stop());

/** A gateway that ends, or stands still. */
class Other {
  static async start({ prefix }: TestStore): Promise<Other> {
    const client = new SwitchedClient([server]);
    const ledger = {
      ...emptyLedger(prefix),
      wallet: async () => WALLET,
      purse: async () => PURSE,
    };
    return new Other(await startStore({ servers: server.url, prefix, client, ledger }), client);
  }

  private constructor(
    private readonly gateway: TestStore,
    private readonly client: SwitchedClient,
  ) {}

  hold(callId: string, microVnd: number, ...purses: string[]) {
    return this.gateway.store.hold({
      ...{ callId, accountId: "A", keyId: "K", amountMicroVnd: microVnd, floorMicroVnd: microVnd },
      purses: purses.map((name) => ({ name, limitMicroVnd: 600 })),
    });
  }

  extend(callId: string, microVnd: number) {
    const amounts = { totalMicroVnd: microVnd, floorMicroVnd: microVnd };
    return this.gateway.store.extend({ callId, accountId: "A", ...amounts });
  }

  post(callId: string, costMicroVnd: number, ...purses: string[]) {
    return this.gateway.store.post(posting({ callId, accountId: "A", costMicroVnd, purses }));
  }

  kill(): Promise<void> {
    return this.gateway.die();
  }

  /** Returns what lets it go on. */
  freeze(): () => void {
    let thaw = () => {};
    this.client.thawed = new Promise((resolve) => {
      thaw = resolve;
    });
    return () => thaw();
  }
}

async function withOther(body: (own: TestStore, other: Other) => Promise<void>): Promise<void> {
  const own = await startStore({ servers: server.url });
  const other = await Other.start(own);
  try {
    assert.equal(await own.store.load("A", async () => WALLET), true);
    await own.store.load("A", async () => PURSE, "key:K");
    await body(own, other);
  } finally {
    await other.kill();
    await own.dispose();
  }
}

async function untilHeld({ store }: TestStore, microVnd: number): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while ((await store.balances("A"))?.heldMicroVnd !== microVnd) {
    assert.ok(performance.now() < deadline, `never ${microVnd} held`);
    await delay(10);
  }
}

t.test(
  "the holds of a killed gateway are given back, and another gateway commits its posts",
  async (t) =>
    withOther(async (own, other) => {
      await other.hold("c1", 300);
      await other.hold("c2", 200);
      t.strictSame(await other.post("c2", 150), {
        chargedMicroVnd: 150,
        writtenOffMicroVnd: 0,
        duplicate: false,
      });
      const { read } = emptyLedger(own.prefix).epochs;
      t.equal((await read("b00")).members.size, 2);
      await other.kill();
      await untilHeld(own, 0);
      await until("no epoch waits for it", async () => (await read("b00")).members.size === 1);
      const entries = await own.store.read(10, TIMEOUT_MS);
      t.strictSame(
        entries.map((entry) => [callIdOf(entry), entry.chargedMicroVnd]),
        [["c2", 150]],
      );
      await own.store.acknowledge(entries);
      const found = await own.store.balances("A");
      t.strictSame(found, { availableMicroVnd: 850, heldMicroVnd: 0, uncommittedMicroVnd: 0 });
    }),
);

t.test("the holds of a killed gateway are given back to their purses", async (t) =>
  withOther(async (own, other) => {
    await other.hold("c1", 300, "key:K");
    await other.hold("c2", 200);
    await other.hold("c3", 100, "key:K");
    await other.post("c3", 70, "key:K");
    const purse = () => own.store.balances("A", "key:K");
    const parts = { availableMicroVnd: -370, heldMicroVnd: 300, uncommittedMicroVnd: 70 };
    t.strictSame(await purse(), parts);
    await other.kill();
    await untilHeld(own, 0);
    const free = { availableMicroVnd: -70, heldMicroVnd: 0 };
    t.strictSame(await purse(), { ...free, uncommittedMicroVnd: 70 });
    // The live gateway commits its posts.
    const entries = await own.store.read(10, TIMEOUT_MS);
    await own.store.acknowledge(entries);
    t.strictSame(await purse(), { ...free, uncommittedMicroVnd: 0 });
  }),
);

t.test("a live gateway keeps its hold far beyond the length of a lease", async (t) =>
  withOther(async (own, other) => {
    await other.hold("c1", 300);
    await delay(3 * LEASE_MS);
    t.strictSame(await other.extend("c1", 400), { kind: "held", amountMicroVnd: 400 });
    t.equal((await own.store.balances("A"))?.heldMicroVnd, 400);
  }),
);

t.test(
  "a frozen gateway whose holds were voided takes them again, and its calls go on",
  async (t) =>
    withOther(async (own, other) => {
      await other.hold("c1", 300);
      const thaw = other.freeze();
      await untilHeld(own, 0);
      thaw();
      t.strictSame(await other.extend("c1", 350), { kind: "held", amountMicroVnd: 350 });
      t.equal((await own.store.balances("A"))?.heldMicroVnd, 350);
      await other.post("c1", 320);
      await until("it is charged", async () => {
        const found = await own.store.balances("A");
        return found?.availableMicroVnd === 680 && found.heldMicroVnd === 0;
      });
    }),
);

t.test(
  "a frozen gateway whose holds were voided spends no more, and is charged what is available",
  async (t) =>
    withOther(async (own, other) => {
      await other.hold("c1", 300);
      const thaw = other.freeze();
      await untilHeld(own, 0);
      const amounts = { amountMicroVnd: 900, floorMicroVnd: 900 };
      const hold = { callId: "c2", accountId: "A", keyId: "K", ...amounts };
      t.equal((await own.store.hold(hold)).kind, "held");
      thaw();
      t.strictSame(await other.extend("c1", 350), {
        kind: "short",
        purse: "wallet",
        availableMicroVnd: 100,
      });
      await other.post("c1", 250);
      // The result may come from the spool; the final charge is what the other call left available.
      const deadline = performance.now() + TIMEOUT_MS;
      let found = await own.store.balances("A");
      while (found?.uncommittedMicroVnd === 0) {
        t.ok(performance.now() < deadline, "never posted");
        await delay(10);
        found = await own.store.balances("A");
      }
      t.strictSame(found, { availableMicroVnd: 0, heldMicroVnd: 900, uncommittedMicroVnd: 100 });
    }),
);

/** Runs two gateways, one of which waits for two leases before it is a member in the ledger again. */
async function withSlowLedger(
  body: (slow: TestStore, isWaiting: () => boolean) => Promise<void>,
): Promise<string[]> {
  const prefix = `test-${randomUUID()}`;
  const ledger = emptyLedger(prefix);
  const { log, lines } = recordedLog();
  let waiting = 0;
  let isSlow = false;
  const epochs: LedgerEpochs = {
    ...ledger.epochs,
    async enter(...asked) {
      waiting += 1;
      if (isSlow) await delay(2 * LEASE_MS);
      waiting -= 1;
      return ledger.epochs.enter(...asked);
    },
  };
  const slow = await startStore({ servers: server.url, prefix, ledger: { ...ledger, epochs } });
  const other = await startStore({ servers: server.url, prefix, log });
  try {
    await other.store.load("A", async () => WALLET);
    isSlow = true;
    await body(slow, () => waiting > 0);
    return lines.map(({ msg }) => String(msg)).filter((msg) => /silent/.test(msg));
  } finally {
    await Promise.all([slow.dispose(), other.dispose()]);
  }
}

/** Posts a call whose commit the ledger refuses: the gateway asks the ledger if it is a member. */
async function postRefused({ store }: TestStore): Promise<void> {
  const amounts = { amountMicroVnd: 10, floorMicroVnd: 10 };
  await store.hold({ callId: "refused", accountId: "A", keyId: "K", ...amounts });
  await store.post(posting({ callId: "refused", accountId: "A", costMicroVnd: 10 }));
  store.refused?.(await store.read(1, TIMEOUT_MS));
}

t.test("a gateway keeps its holds while it waits for the ledger longer than a lease", async (t) => {
  const ended = await withSlowLedger(async (slow, isWaiting) => {
    const amounts = { amountMicroVnd: 300, floorMicroVnd: 300 };
    await slow.store.hold({ callId: "c1", accountId: "A", keyId: "K", ...amounts });
    await postRefused(slow);
    await until("it asks the ledger", async () => isWaiting());
    await until("the ledger replies", async () => !isWaiting());
    t.equal((await slow.store.balances("A"))?.heldMicroVnd, 300);
  });
  t.strictSame(ended, []);
});

t.test("a gateway that stops leaves each bucket without waiting for the others", async (t) => {
  const ended = await withSlowLedger(async (slow, isWaiting) => {
    await postRefused(slow);
    await until("it asks the ledger", async () => isWaiting());
    await slow.store.stop();
  });
  t.strictSame(ended, []);
});
