import t from "tap";
import { Committer } from "../../../core/money/committer.ts";
import { createEmbeddedHoldStore } from "../../../core/money/embedded/store.ts";
import { stopMoney } from "../../../core/money/stop.ts";
import { createStoredWallets } from "../../../core/money/stored-wallets.ts";
import type { Machine } from "../../../core/process/machine.ts";
import { MemoryHistory } from "../../support/commit-counts.ts";
import { posting } from "../../support/posting.ts";
import { simulatedMachine } from "./simulated-machine.ts";
import { StubLedger } from "./stub-ledger.ts";
import { holdRequest, movement } from "./wallet-fixtures.ts";

const late = (callId: string) => posting({ callId, accountId: "A", costMicroVnd: 300 });

/** A gateway with embedded balances whose disk is full: two calls delivered text, and no post of them was kept. */
async function stage() {
  const { machine, next, log, lines, disk, pass } = simulatedMachine();
  const ledger = new StubLedger();
  ledger.addAccount("A");
  const start = async (machine: Machine) => {
    const holdStore = createEmbeddedHoldStore({
      journal: { folder: "/data/journal", bytesMax: 1e6, sync: false, log, machine },
      outboxEntriesMax: 1_000,
      history: new MemoryHistory(),
    });
    const committer = new Committer({
      ...{ holdStore, ledger, log, machine, batchEntries: 10, lingerMs: 10 },
    });
    const wallets = createStoredWallets({ holdStore, ledger, machine });
    await holdStore.start();
    committer.start();
    return { holdStore, committer, wallets };
  };
  const { holdStore, committer, wallets } = await start(machine);
  await wallets.credit(movement(1_000n));
  for (const callId of ["c1", "c2"]) await wallets.hold(holdRequest(callId, 400));
  // The probe of the start ends.
  await pass(100);
  disk.freeBytes = 10;
  for (const callId of ["c1", "c2"]) wallets.postLater(late(callId));
  const killAndStart = () => {
    machine.kill();
    disk.empty();
    return start(next("the next gateway"));
  };
  const beginStop = () => stopMoney({ wallets, committer, holdStore, log });
  const stop = async () => {
    let isStopped = false;
    const stopping = beginStop().finally(() => {
      isStopped = true;
    });
    for (let seconds = 0; !isStopped && seconds < 60; seconds += 1) await pass(1_000);
    return (await stopping).map(({ callId }) => callId);
  };
  const errors = () => lines.filter(({ level, callId }) => level === 50 && callId !== undefined);
  return { ledger, holdStore, wallets, disk, pass, beginStop, stop, killAndStart, errors };
}

t.test("a kill on a full disk loses what only memory has, and no money", async (t) => {
  const { ledger, killAndStart } = await stage();
  const { holdStore, wallets } = await killAndStart();
  t.equal(holdStore.uncommittedCalls(), 0);
  await wallets.hold(holdRequest("c3", 400));
  t.match(await wallets.balances("A"), { availableMicroVnd: 600, heldMicroVnd: 400 });
  t.strictSame([...ledger.charges.keys()], []);
});

t.test("a stop on a full disk says which calls are lost", async (t) => {
  const { stop, errors } = await stage();
  t.strictSame(await stop(), ["c1", "c2"]);
  t.match(errors(), [
    { callId: "c1", accountId: "A", costMicroVnd: 300 },
    { callId: "c2", accountId: "A", costMicroVnd: 300 },
  ]);
});

t.test("a stop after the disk has room again keeps the posts there", async (t) => {
  const { ledger, disk, stop, errors } = await stage();
  ledger.before = () => Promise.reject(new Error("connection refused"));
  disk.empty();
  t.strictSame(await stop(), [], "the next start commits them");
  t.strictSame(errors(), []);
});
