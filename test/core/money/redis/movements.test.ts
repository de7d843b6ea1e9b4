import { randomUUID } from "node:crypto";
import t from "tap";
import { movementHoldId } from "../../../../core/money/movement-hold.ts";
import type { RedisHoldStore } from "../../../../core/money/redis/store.ts";
import { StoredWallets } from "../../../../core/money/stored-wallets.ts";
import { startRedis, type TestRedis } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { StubLedger } from "../stub-ledger.ts";
import { movement } from "../wallet-fixtures.ts";
import { type StoreOptions, startStore, type TestStore } from "./store.ts";

const AMOUNT = 300;
/** How long a gateway waits in production before it ends the hold of a movement that no process has. */
const LONG_MS = 60_000;

let redis: TestRedis;

t.before(async () => {
  redis = await startRedis();
});
t.teardown(() => redis.stop());

interface TwoGateways {
  readonly ledger: StubLedger;
  /** The gateway that dies. */
  readonly first: TestStore;
  readonly second: TestStore;
}

/** Runs `body` with two gateways, and account A with 1,000 µđ that the second one has loaded. */
async function withGateways(
  times: NonNullable<StoreOptions["times"]>,
  body: (gateways: TwoGateways) => Promise<void>,
): Promise<void> {
  const ledger = new StubLedger();
  ledger.addAccount("A");
  await ledger.credit(movement(1_000n));
  const options = { servers: redis.servers, prefix: `test-${randomUUID()}`, ledger, times };
  const first = await startStore(options);
  const second = await startStore(options);
  try {
    await second.store.load("A", () => ledger.wallet("A"));
    await body({ ledger, first, second });
  } finally {
    await Promise.all([first.dispose(), second.dispose()]);
  }
}

function take(store: RedisHoldStore, adjustment: ReturnType<typeof movement>) {
  const callId = movementHoldId(adjustment);
  const amounts = { amountMicroVnd: AMOUNT, floorMicroVnd: AMOUNT };
  return store.hold({ callId, accountId: "A", keyId: "", ...amounts });
}

async function parts({ store }: TestStore): Promise<string> {
  const { availableMicroVnd, heldMicroVnd } = (await store.balances("A")) ?? {};
  return `${availableMicroVnd} ${heldMicroVnd}`;
}

t.test("an adjustment whose gateway died between its hold and its commit", async (t) => {
  for (const isCommitted of [false, true]) {
    t.test(`is ended by what the ledger has; committed: ${isCommitted}`, async (t) =>
      withGateways({ unownedMovementMs: 200 }, async ({ ledger, first, second }) => {
        const adjustment = movement(BigInt(-AMOUNT));
        t.match(await take(first.store, adjustment), { kind: "held" });
        if (isCommitted) await ledger.credit(adjustment);
        await first.die();
        const expected = isCommitted ? "700 0" : "1000 0";
        await until("nothing is held", async () => (await parts(second)) === expected);
      }),
    );
  }

  t.test(
    "keeps its hold when the lease of the gateway ends, and is completed if sent again",
    async (t) =>
      withGateways({ unownedMovementMs: LONG_MS }, async ({ ledger, first, second }) => {
        const adjustment = movement(BigInt(-AMOUNT));
        await take(first.store, adjustment);
        await first.die();
        const call = { callId: "c", accountId: "A", keyId: "K" };
        await second.store.hold({ ...call, amountMicroVnd: 1_000, floorMicroVnd: 1 });
        t.equal(await parts(second), "0 1000", "the rest, and no more, can be spent");
        await second.store.void("c", "A");
        const wallets = new StoredWallets({ holdStore: second.store, ledger });
        t.match(await wallets.credit(adjustment), { kind: "credited", applied: true });
        t.equal(await parts(second), "700 0");
      }),
  );

  t.test("belongs to the gateway that it is sent to again", async (t) =>
    withGateways({ unownedMovementMs: 200 }, async ({ first, second }) => {
      const adjustment = movement(BigInt(-AMOUNT));
      await take(first.store, adjustment);
      t.match(await take(second.store, adjustment), { kind: "held", amountMicroVnd: AMOUNT });
      // Neither the first gateway's void nor its end touches the hold now.
      await first.store.void(movementHoldId(adjustment), "A");
      t.equal(await parts(second), "700 300");
      await second.store.void(movementHoldId(adjustment), "A");
      t.equal(await parts(second), "1000 0");
    }),
  );
});

t.test("the hold of a movement that its own gateway has lost is given back", async (t) =>
  withGateways({ unownedMovementMs: 200 }, async ({ first, second }) => {
    const adjustment = movement(BigInt(-AMOUNT));
    await take(first.store, adjustment);
    // Applying fails silently if the ledger has another total, and the gateway still forgets the hold.
    await first.store.credit({
      accountId: "A",
      creditVersion: 2,
      creditedMicroVnd: -5_000n,
      releasedCallIds: [movementHoldId(adjustment)],
    });
    t.equal(await parts(second), "700 300");
    await until("nothing is held", async () => (await parts(second)) === "1000 0");
  }),
);

t.test(
  "two adjustments through two gateways at once do not wait for each other's release",
  async (t) =>
    withGateways({ unownedMovementMs: LONG_MS }, async ({ ledger, first, second }) => {
      const one = movement(BigInt(-AMOUNT));
      const two = movement(BigInt(-AMOUNT));
      const notCommitted = movement(BigInt(-AMOUNT));
      await take(first.store, one);
      await take(second.store, two);
      await take(second.store, notCommitted);
      await ledger.credit(one);
      await ledger.credit(two);
      const both = (await ledger.wallet("A"))!;
      t.equal(await parts(second), "100 900");
      // The second gateway may be dead by now.
      t.ok(await first.store.credit({ ...both, releasedCallIds: [movementHoldId(one)] }));
      t.equal(
        await parts(second),
        "100 300",
        "nothing of either can be spent, and the third is held",
      );
      t.ok(await second.store.credit({ ...both, releasedCallIds: [movementHoldId(two)] }));
      t.equal(await parts(second), "100 300", "each is applied once");
    }),
);
