import { randomUUID } from "node:crypto";
import t from "tap";
import { Committer } from "../../../../core/money/committer.ts";
import { debitOf } from "../../../../core/money/debit.ts";
import { createStoredWallets, type StoredWallets } from "../../../../core/money/stored-wallets.ts";
import { recordedLog } from "../../../support/log.ts";
import { startRedis, type TestRedis } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { StubLedger } from "../stub-ledger.ts";
import { movement } from "../wallet-fixtures.ts";
import { startStore, type TestStore } from "./store.ts";

const AMOUNT = 300;
const { log } = recordedLog();

let redis: TestRedis;

t.before(async () => {
  redis = await startRedis();
});
t.teardown(() => redis.stop());

interface Gateway extends TestStore {
  readonly wallets: StoredWallets;
  readonly committer: Committer;
}

interface TwoGateways {
  readonly ledger: StubLedger;
  readonly first: Gateway;
  readonly second: Gateway;
}

/** Runs `body` with two gateways whose committers do not run yet, and account A with 1,000 µđ. */
async function withGateways(body: (gateways: TwoGateways) => Promise<void>): Promise<void> {
  const ledger = new StubLedger();
  ledger.addAccount("A");
  await ledger.credit(movement(1_000n));
  const options = { servers: redis.servers, prefix: `test-${randomUUID()}`, ledger };
  const start = async (): Promise<Gateway> => {
    const started = await startStore(options);
    const { store: holdStore } = started;
    const wallets = createStoredWallets({ holdStore, ledger });
    const committer = new Committer({ holdStore, ledger, log, batchEntries: 10, lingerMs: 0 });
    return { ...started, wallets, committer };
  };
  const [first, second] = [await start(), await start()];
  try {
    await second.store.load("A", () => ledger.wallet("A"));
    await body({ ledger, first, second });
  } finally {
    for (const { committer, dispose } of [first, second]) {
      await committer.stop(1_000);
      await dispose();
    }
  }
}

async function parts({ store }: TestStore): Promise<string> {
  const found = await store.balances("A");
  return `${found?.availableMicroVnd} ${found?.heldMicroVnd} ${found?.uncommittedMicroVnd}`;
}

const end = (work: Promise<unknown>) => work.catch((error: Error) => error.name);

t.test("a debit whose gateway dies before its commit is committed by another one", async (t) =>
  withGateways(async ({ ledger, first, second }) => {
    const debit = movement(BigInt(-AMOUNT));
    void end(first.wallets.credit(debit));
    await until("it is posted", async () => (await parts(second)) === "700 0 300");
    await first.die();
    second.committer.start();
    t.match(await second.wallets.credit(debit), { kind: "credited", applied: false });
    await until("it is acknowledged", async () => (await parts(second)) === "700 0 0");
    t.equal((await ledger.wallet("A"))?.balanceMicroVnd, 700n);
  }),
);

t.test("two debits of different amounts under one reference: one gives its money back", async (t) =>
  withGateways(async ({ ledger, first, second }) => {
    const one = movement(-300n, "shared");
    const other = movement(-200n, "shared");
    const both = [first.wallets.credit(one), second.wallets.credit(other)];
    await until("both are posted", async () => (await parts(second)) === "500 0 500");
    for (const { committer } of [first, second]) committer.start();
    const kinds = (await Promise.all(both)).map(({ kind }) => kind);
    t.strictSame([...kinds].sort(), ["credited", "reference_conflict"]);
    const left = kinds[0] === "credited" ? 700 : 800;
    await until("one has its money again", async () => (await parts(first)) === `${left} 0 0`);
    t.equal((await ledger.wallet("A"))?.balanceMicroVnd, BigInt(left));
    // The refused one is not remembered: after a correction of the books it can be made.
    t.match(await first.store.debit(debitOf({ ...one, reference: "new" }, Date.now())), {
      kind: "posted",
      duplicate: false,
    });
  }),
);

t.test("a debit that loses its Redis is in the ledger, or can be sent again", async (t) =>
  withGateways(async ({ ledger, first, second }) => {
    const debit = movement(BigInt(-AMOUNT));
    const sent = end(first.wallets.credit(debit));
    await until("it is posted", async () => (await parts(second)) === "700 0 300");
    await redis.wipe(first.prefix);
    for (const { committer } of [first, second]) committer.start();
    await sent;
    await until("it is made", async () => {
      const again = await second.wallets.credit(debit).catch(() => undefined);
      return again?.kind === "credited";
    });
    t.equal((await ledger.wallet("A"))?.balanceMicroVnd, 700n);
    await until("both stores agree", async () => {
      await second.store.load("A", () => ledger.wallet("A"));
      const found = await second.store.balances("A").catch(() => undefined);
      return found?.availableMicroVnd === 700 && found.uncommittedMicroVnd === 0;
    });
  }),
);
