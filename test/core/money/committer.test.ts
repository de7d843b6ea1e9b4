import { EventEmitter, once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { Committer } from "../../../core/money/committer.ts";
import type { HoldStore } from "../../../core/money/hold-store.ts";
import { EntryRefused } from "../../../core/money/ledger.ts";
import type { StoredEntry } from "../../../core/money/outbox-entry.ts";
import { recordedLog } from "../../support/log.ts";
import { callIdOf, posting } from "../../support/posting.ts";
import { until } from "../../support/until.ts";
import { ManualMachine } from "./manual-machine.ts";
import { holdRequest, movement, type Stores, withStores } from "./wallet-fixtures.ts";

function committerOn({ holdStore, ledger, logged }: Stores, batchEntries = 10): Committer {
  return new Committer({ holdStore, ledger, log: logged.log, batchEntries, lingerMs: 1 });
}

async function postCalls({ wallets }: Stores, callIds: readonly string[]): Promise<void> {
  for (const callId of callIds) {
    await wallets.hold(holdRequest(callId, 5));
    await wallets.post(posting({ callId, accountId: "A", costMicroVnd: 3 }));
  }
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `c${n}`);
}

t.test("while the ledger is down calls continue uncommitted, and the log stays short", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger, holdStore, logged } = stores;
    await wallets.credit(movement(10_000n));
    await wallets.hold(holdRequest("open", 1));
    const tried = new EventEmitter();
    let away = true;
    ledger.before = async (what) => {
      if (what !== "commit" || !away) return;
      tried.emit("commit");
      throw new Error("connection refused");
    };
    const committer = committerOn(stores);
    committer.start();
    await postCalls(stores, names(30));
    for (let n = 0; n < 3; n += 1) await once(tried, "commit");
    t.equal(committer.status.failing, true);
    t.equal(holdStore.uncommittedCalls(), 30);
    t.ok(logged.lines.length <= 3);
    away = false;
    await committer.stop(5_000);
    t.equal(ledger.charges.size, 30);
    t.match(committer.status, { committedCalls: 30, failing: false });
    const last = logged.lines.at(-1);
    t.match(last, { failures: Number, msg: "posted calls reach the ledger again" });
  }),
);

t.test("a stop does not wait for the pause after a failed commit", async (t) =>
  withStores(async (stores) => {
    const { wallets, holdStore, ledger, logged } = stores;
    await wallets.credit(movement(100n));
    let away = true;
    ledger.before = async (what) => {
      if (what === "commit" && away) throw new Error("connection refused");
    };
    // Its time stands still, so the pause does not end by itself.
    const machine = new ManualMachine();
    const options = { holdStore, ledger, log: logged.log, batchEntries: 10, lingerMs: 1 };
    const committer = new Committer({ ...options, machine });
    committer.start();
    await postCalls(stores, ["c1"]);
    await until("it pauses", () => committer.status.failing && machine.timersRunning > 0);
    away = false;
    let isStopped = false;
    const stopping = committer.stop(60_000).then(() => {
      isStopped = true;
    });
    await until("the call is in the ledger", () => ledger.charges.size === 1);
    await until("it has stopped", async () => {
      await machine.advance(1);
      return isStopped;
    });
    await stopping;
    t.equal(holdStore.uncommittedCalls(), 0);
  }),
);

t.test("a batch is committed while that before it is acknowledged", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger, holdStore, logged } = stores;
    await wallets.credit(movement(1_000n));
    await postCalls(stores, names(9));
    const replied = new EventEmitter();
    const slow: HoldStore = Object.assign(Object.create(holdStore), {
      acknowledge: async (entries: readonly StoredEntry[]) => {
        await holdStore.acknowledge(entries);
        await once(replied, "all");
      },
    });
    const options = { holdStore: slow, ledger, log: logged.log, batchEntries: 3, lingerMs: 1 };
    const committer = new Committer(options);
    committer.start();
    await until("a second batch is committed", () => ledger.charges.size === 6);
    let isStopped = false;
    const stopping = committer.stop(5_000).then(() => {
      isStopped = true;
    });
    await until("the last batch is committed", () => {
      if (ledger.charges.size < 9) replied.emit("all");
      return ledger.charges.size === 9;
    });
    await delay(50);
    t.equal(isStopped, false, "it waits for the last reply");
    await until("it has stopped", () => {
      replied.emit("all");
      return isStopped;
    });
    await stopping;
    t.equal(ledger.charges.size, 9);
  }),
);

t.test("a commit whose reply was lost is repeated, and charged once", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger, holdStore } = stores;
    await wallets.credit(movement(1_000n));
    let lost = 3;
    ledger.after = async (what) => {
      if (what !== "commit" || lost === 0) return;
      lost -= 1;
      throw new Error("the reply is lost");
    };
    await postCalls(stores, names(5));
    const committer = committerOn(stores);
    committer.start();
    await committer.stop(5_000);
    t.equal(ledger.calls.commit, 4);
    t.equal((await ledger.wallet("A"))?.balanceMicroVnd, 985n);
    t.equal(holdStore.uncommittedCalls(), 0);
  }),
);

t.test(
  "a call that the ledger refuses is quarantined with a log line, and the others are committed",
  async (t) =>
    withStores(async (stores) => {
      const { wallets, ledger, holdStore, logged } = stores;
      await wallets.credit(movement(1_000n));
      await postCalls(stores, names(4));
      holdStore.post(posting({ callId: "stray", accountId: "nobody" }));
      await postCalls(stores, ["after"]);
      const committer = committerOn(stores);
      committer.start();
      await committer.stop(5_000);
      t.strictSame([...ledger.charges.keys()], [...names(4), "after"]);
      t.strictSame(ledger.parked.map(callIdOf), ["stray"]);
      t.equal(committer.status.quarantinedCalls, 1);
      const loud = logged.lines.filter((line) => line["level"] === 50);
      t.strictSame(
        loud.map((line) => line["callId"]),
        ["stray"],
      );
    }),
);

t.test("a quarantined charge stays visible as drift", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger } = stores;
    await wallets.credit(movement(1_000n));
    await postCalls(stores, ["c1"]);
    ledger.before = async (what) => {
      if (what === "commit") throw new EntryRefused("for a test");
    };
    const committer = committerOn(stores);
    committer.start();
    await committer.stop(5_000);
    for await (const row of wallets.reconcile()) t.equal(row.driftMicroVnd, -3n);
  }),
);

t.test("a stop ends at its limit, and the calls stay in the outbox", async (t) =>
  withStores(async (stores) => {
    const { wallets, ledger, holdStore, logged } = stores;
    await wallets.credit(movement(1_000n));
    await postCalls(stores, names(3));
    ledger.before = () => new Promise(() => {});
    const committer = committerOn(stores);
    committer.start();
    await committer.stop(100);
    t.equal(holdStore.uncommittedCalls(), 3);
    t.match(JSON.stringify(logged.lines), /stopped before all calls were committed/);
  }),
);

t.test(
  "a store that returns no entries, and does not wait, does not block the event loop",
  async () =>
    withStores(async (stores) => {
      const { holdStore } = stores;
      holdStore.read = async () => [];
      const committer = committerOn(stores);
      committer.start();
      // A loop of promises alone would never let a timer fire.
      await new Promise((resolve) => setTimeout(resolve, 1));
      await committer.stop(1_000);
    }),
);

t.test("the pause after a batch is as short as the batch", async (t) => {
  const machine = new ManualMachine();
  const reads: number[] = [];
  const batches = [1, 4, 20, 100, 0].map((size) => Array.from({ length: size }, (_, n) => n));
  const entryOfCall = (n: number) => ({
    entryId: `${n}`,
    posting: posting({ callId: `c${n}`, accountId: "A" }),
  });
  const holdStore = {
    read: async () => {
      reads.push(machine.monotonic());
      return (batches.shift() ?? []).map(entryOfCall);
    },
    acknowledge: async () => {},
    uncommittedCalls: () => 0,
  } as unknown as Stores["holdStore"];
  const ledger = { commit: async () => {} } as unknown as Stores["ledger"];
  const { log } = recordedLog();
  const options = { holdStore, ledger, log, machine, batchEntries: 100, lingerMs: 250 };
  const committer = new Committer(options);
  committer.start();
  await machine.advance(0);
  await machine.advance(500);
  t.strictSame(reads.slice(0, 5), [0, 50, 250, 500, 500], "50 ms a call, 250 ms at most");
  await committer.stop(0);
});
