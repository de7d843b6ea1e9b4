import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  createEmbeddedHoldStore,
  type EmbeddedHoldStore,
} from "../../../../core/money/embedded/store.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { recordedLog } from "../../../support/log.ts";
import { posting, readable } from "../../../support/posting.ts";
import { ManualMachine } from "../manual-machine.ts";

/** Shorter than in production: the machine takes a turn for every timer of the store. */
const times = { walletIdleMs: 10_000, idleLookMs: 1_000 };
const { walletIdleMs, idleLookMs } = times;
const WALLET = 1_000;

async function started(t: Test): Promise<{ store: EmbeddedHoldStore; machine: ManualMachine }> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-hold-store-"));
  const machine = new ManualMachine();
  const { log } = recordedLog();
  const store = createEmbeddedHoldStore({
    journal: { folder, bytesMax: 1_000_000, sync: false, log, machine },
    outboxEntriesMax: 100,
    history: new MemoryHistory(),
    times,
  });
  await store.start();
  t.teardown(async () => {
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { store, machine };
}

function load(store: EmbeddedHoldStore, accountId: string): Promise<boolean> {
  const amounts = { balanceMicroVnd: BigInt(WALLET), creditVersion: 1, creditedMicroVnd: 1_000n };
  return store.load(accountId, async () => ({ accountId, ...amounts }));
}

function hold(store: EmbeddedHoldStore, accountId: string, amountMicroVnd: number): void {
  store.hold({
    callId: `call of ${accountId}`,
    accountId,
    keyId: "K",
    amountMicroVnd,
    floorMicroVnd: 0,
  });
}

t.test("wallets without a call are closed, however many", async (t) => {
  const { store, machine } = await started(t);
  const accounts = Array.from({ length: 2_500 }, (_, at) => `account ${at}`);
  for (const account of accounts) await load(store, account);
  const open = () => accounts.filter((account) => store.balances(account) !== undefined).length;
  await machine.advance(walletIdleMs);
  t.equal(open(), accounts.length, "the first look begins their time");
  await machine.advance(2 * idleLookMs);
  t.equal(open(), 0);
});

t.test("wallets that a call uses stay", async (t) => {
  const { store, machine } = await started(t);
  for (const account of ["held", "free", "posted", "credited", "idle"]) await load(store, account);
  hold(store, "held", 1);
  // The hold is 0, but the post may cost something.
  hold(store, "free", 0);
  store.post(posting({ callId: "call", accountId: "posted", costMicroVnd: 1 }));
  await machine.advance(walletIdleMs);
  const credited = { creditVersion: 2, creditedMicroVnd: 1_001n };
  store.credit({ accountId: "credited", ...credited });
  await machine.advance(2 * idleLookMs);
  const open = ["held", "free", "posted", "credited", "idle"].filter((id) => store.balances(id));
  t.same(open, ["held", "free", "posted", "credited"]);
  store.void("call of held");
  store.void("call of free");
  store.acknowledge(readable(await store.read(10, 0)));
  await machine.advance(walletIdleMs + 3 * idleLookMs);
  for (const id of open) t.equal(store.balances(id), undefined, id);
});
