import t from "tap";
import { Committer } from "../../../core/money/committer.ts";
import { createStoredWallets } from "../../../core/money/stored-wallets.ts";
import { posting, readable } from "../../support/posting.ts";
import { until } from "../../support/until.ts";
import { holdRequest, movement, type Stores, withStores } from "./wallet-fixtures.ts";

async function commit({ holdStore, ledger }: Stores): Promise<void> {
  const entries = readable(await holdStore.read(1_000, 0));
  await ledger.commit(entries);
  holdStore.acknowledge(entries);
}

/** Commits what is posted until `work` is done. */
async function committing<T>({ holdStore, ledger, logged: { log } }: Stores, work: Promise<T>) {
  const committer = new Committer({ holdStore, ledger, log, batchEntries: 3, lingerMs: 0 });
  committer.start();
  const result = await work;
  await committer.stop(10_000);
  return result;
}

/** Returns `available held uncommitted` of account A in the hold store. */
function parts({ holdStore }: Stores): string {
  const found = holdStore.balances("A");
  if (found === undefined) return "not loaded";
  return `${found.availableMicroVnd} ${found.heldMicroVnd} ${found.uncommittedMicroVnd}`;
}

t.test("a credit is spendable once it resolves, and only once", async (t) =>
  withStores(async (stores) => {
    const { wallets } = stores;
    await wallets.hold(holdRequest("c0", 0));
    const topUp = movement(500n);
    const results = await Promise.all([
      wallets.credit(topUp),
      wallets.credit(topUp),
      wallets.credit(movement(70n)),
    ]);
    t.strictSame(
      results.map((one) => one.kind === "credited" && one.applied),
      [true, false, true],
    );
    t.equal(parts(stores), "570 0 0");
  }),
);

t.test("a credit that was committed and not applied is applied when it is sent again", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger } = stores;
    await wallets.hold(holdRequest("c0", 0));
    ledger.after = () => Promise.reject(new Error("the reply is lost"));
    const topUp = movement(500n);
    await t.rejects(wallets.credit(topUp), /lost/);
    t.equal(parts(stores), "0 0 0");
    ledger.after = async () => {};
    t.equal((await wallets.credit(topUp)).kind, "credited");
    t.equal(parts(stores), "500 0 0");
  }),
);

t.test("a credit that was committed and not applied is applied at the next start", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger } = stores;
    await wallets.hold(holdRequest("c0", 0));
    await ledger.credit(movement(500n));
    t.equal(parts(stores), "0 0 0");
    await wallets.start();
    t.equal(parts(stores), "500 0 0");
  }),
);

t.test("money that running calls hold or have spent cannot be taken away", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger } = stores;
    await wallets.credit(movement(1_000n));
    await wallets.hold(holdRequest("c1", 600));
    await wallets.hold(holdRequest("c2", 300));
    await wallets.post(posting({ callId: "c2", accountId: "A", costMicroVnd: 300 }));
    // The ledger alone still has 1,000.
    t.strictSame(await wallets.credit(movement(-101n)), { kind: "below_zero" });
    t.equal(parts(stores), "100 600 300");
    const taken = await committing(stores, wallets.credit(movement(-100n)));
    t.match(taken, { kind: "credited", applied: true });
    t.equal(parts(stores), "0 600 0");
    await wallets.post(posting({ callId: "c1", accountId: "A", costMicroVnd: 700 }));
    await commit(stores);
    t.equal((await ledger.wallet("A"))?.balanceMicroVnd, 0n);
  }),
);

t.test(
  "money is taken away once, also if it is sent again before and after its commit",
  async (t) =>
    withStores(async (stores) => {
      const { wallets, ledger } = stores;
      await wallets.credit(movement(1_000n));
      const debit = movement(-400n);
      const other = createStoredWallets({ holdStore: stores.holdStore, ledger });
      const both = Promise.all([wallets.credit(debit), other.credit(debit)]);
      const results = await committing(stores, both);
      t.strictSame(results.map((one) => one.kind === "credited" && one.applied).sort(), [
        false,
        true,
      ]);
      t.match(await wallets.credit(debit), { kind: "credited", applied: false });
      t.strictSame(await wallets.credit({ ...debit, amountMicroVnd: -1n }), {
        kind: "reference_conflict",
      });
      t.equal(parts(stores), "600 0 0");
      t.equal((await ledger.wallet("A"))?.balanceMicroVnd, 600n);
    }),
);

t.test("a debit and a top-up under one reference: the ledger takes the first", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger } = stores;
    await wallets.credit(movement(1_000n));
    const debit = movement(-400n, "one");
    const taken = wallets.credit(debit);
    await until("it is posted", () => parts(stores) === "600 0 400");
    await ledger.credit(movement(7n, "one"));
    t.strictSame(await committing(stores, taken), { kind: "reference_conflict" });
    await until("the wallet has the money again", () => parts(stores) === "1000 0 0");
  }),
);

t.test("concurrent credits and debits leave both stores equal", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger } = stores;
    await wallets.credit(movement(1_000n));
    ledger.before = () => new Promise((resolve) => setImmediate(resolve));
    const all = Array.from({ length: 40 }, (_, n) => wallets.credit(movement(n % 2 ? 30n : -700n)));
    await committing(stores, Promise.all(all));
    const balance = (await ledger.wallet("A"))?.balanceMicroVnd ?? -1n;
    t.equal(parts(stores), `${balance} 0 0`);
    for await (const row of wallets.reconcile()) t.equal(row.driftMicroVnd, 0n);
  }),
);

t.test(
  "a post that does not fit on the disk is charged once there is room, and its hold stays until then",
  async (t) => {
    await withStores(async ({ holdStore, wallets }) => {
      await wallets.credit(movement(1_000n));
      await wallets.hold(holdRequest("late", 400));
      wallets.postLater(posting({ callId: "late", accountId: "A", costMicroVnd: 300 }));
      t.equal(holdStore.balances("A")?.heldMicroVnd, 400);
      t.match(wallets.unsent(), [{ kind: "post", callId: "late", microVnd: 300 }]);
      await until("it is charged", () => holdStore.balances("A")?.uncommittedMicroVnd === 300);
      t.equal(holdStore.balances("A")?.heldMicroVnd, 0);
      t.strictSame(wallets.unsent(), []);
    });
  },
);

t.test("two debits of two accounts under one reference: one is made", (t) =>
  withStores(async (stores) => {
    const { holdStore, ledger, wallets } = stores;
    ledger.addAccount("B");
    await wallets.credit(movement(100n));
    await wallets.credit({ ...movement(100n), accountId: "B" });
    const debit = movement(-100n);
    const both = Promise.all([wallets.credit(debit), wallets.credit({ ...debit, accountId: "B" })]);
    const kinds = (await committing(stores, both)).map(({ kind }) => kind);
    t.strictSame([...kinds].sort(), ["credited", "reference_conflict"]);
    for (const [at, accountId] of ["A", "B"].entries()) {
      const availableMicroVnd = kinds[at] === "credited" ? 0 : 100;
      const expected = { availableMicroVnd, heldMicroVnd: 0, uncommittedMicroVnd: 0 };
      t.strictSame(holdStore.balances(accountId), expected);
    }
  }),
);

t.test("a top-up with an unknown outcome becomes spendable without a second request", (t) =>
  withStores(async (stores) => {
    const { ledger, wallets } = stores;
    await wallets.credit(movement(1_000n));
    await wallets.hold(holdRequest("open", 1));
    ledger.after = async (operation) => {
      if (operation === "credit") throw new Error("the connection was closed");
    };
    await t.rejects(wallets.credit(movement(300n)));
    t.equal(parts(stores), "999 1 0");
    await until("the money is there", () => parts(stores) === "1299 1 0");
  }),
);

t.test(
  "a start reads a thousand loaded wallets by one statement, and applies what is newer",
  async (t) =>
    withStores(async ({ wallets, ledger }) => {
      for (let account = 0; account < 900; account += 1) {
        ledger.addAccount(`A${account}`);
        await ledger.credit({ ...movement(1_000n), accountId: `A${account}` });
        await wallets.hold(holdRequest(`c${account}`, 1, `A${account}`));
      }
      await ledger.credit({ ...movement(500n), accountId: "A7" });
      ledger.calls.wallet = 0;
      const asked = t.capture(ledger, "newerWallets", ledger.newerWallets);
      await wallets.start();
      t.equal(asked().length, 1);
      t.equal(ledger.calls.wallet, 1, "only the one that is newer");
      t.equal((await wallets.balances("A7"))?.availableMicroVnd, 1_499);
      t.equal((await wallets.balances("A8"))?.availableMicroVnd, 999);
    }),
);
