import t from "tap";
import { Committer } from "../../../core/money/committer.ts";
import { posting } from "../../support/posting.ts";
import { holdRequest, movement, type Stores, withStores } from "./wallet-fixtures.ts";

const BACKLOG = 6_000;

/** Makes the ledger run one statement after another, as over one connection. */
function overOneConnection({ ledger }: Stores): void {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(statement: () => Promise<T>): Promise<T> => {
    const done = last.then(async () => {
      // The reply is a packet of its own.
      await new Promise((resolve) => setTimeout(resolve, 1));
      return statement();
    });
    last = done.catch(() => {});
    return done;
  };
  const commit = ledger.commit.bind(ledger);
  const sum = ledger.sum.bind(ledger);
  const sums = ledger.sums.bind(ledger);
  ledger.sums = async function* () {
    for await (const each of sums()) yield inTurn(async () => each);
    // Reads that there are no more.
    await inTurn(async () => {});
  };
  ledger.commit = (entries) => inTurn(() => commit(entries));
  ledger.sum = (accountId, limit) => inTurn(() => sum(accountId, limit));
}

/** Posts a backlog for account A. Its commits then follow each other without a pause. */
async function postBacklog({ wallets }: Stores): Promise<void> {
  await wallets.credit(movement(BigInt(BACKLOG)));
  for (let n = 0; n < BACKLOG; n += 1) {
    await wallets.hold(holdRequest(`c${n}`, 1));
    await wallets.post(posting({ callId: `c${n}`, accountId: "A", costMicroVnd: 1 }));
  }
}

for (const driftMicroVnd of [0n, 5n]) {
  t.test(`reconcile finds ${driftMicroVnd} µđ of drift while commits never pause`, async (t) =>
    withStores(async (stores) => {
      const { wallets, holdStore, ledger, logged } = stores;
      overOneConnection(stores);
      await postBacklog(stores);
      // Money that only the hold store has.
      holdStore.credit({
        accountId: "A",
        creditVersion: 2,
        creditedMicroVnd: BigInt(BACKLOG) + driftMicroVnd,
      });
      const committer = new Committer({
        holdStore,
        ledger,
        log: logged.log,
        batchEntries: 5,
        lingerMs: 1,
      });
      committer.start();
      for await (const row of wallets.reconcile()) t.equal(row.driftMicroVnd, driftMicroVnd);
      t.ok(holdStore.uncommittedCalls() > 0, "commits went on all the time");
      await committer.stop(60_000);
    }),
  );
}
