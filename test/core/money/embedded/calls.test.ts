import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { debitOf } from "../../../../core/money/debit.ts";
import { createEmbeddedHoldStore } from "../../../../core/money/embedded/store.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { recordedLog } from "../../../support/log.ts";
import { posting } from "../../../support/posting.ts";
import { holdRequest, movement } from "../wallet-fixtures.ts";

const START = 1_000;

/** A store with START µđ in the wallet of A, on a folder that the test deletes. */
async function opened(t: Test, bytesMax = 100_000) {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-calls-"));
  const journal = { folder, bytesMax, sync: false, log: recordedLog().log };
  const history = new MemoryHistory();
  const store = createEmbeddedHoldStore({ journal, outboxEntriesMax: 100, history });
  await store.start();
  t.teardown(async () => {
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const amounts = { balanceMicroVnd: BigInt(START), creditedMicroVnd: BigInt(START) };
  await store.load("A", async () => ({ accountId: "A", creditVersion: 1, ...amounts }));
  return store;
}

const post = (
  callId: string,
  costMicroVnd: number,
  more: { accountId?: string; model?: string; purses?: string[] } = {},
) => posting({ callId, accountId: "A", costMicroVnd, ...more });
const balances = (
  availableMicroVnd: number,
  heldMicroVnd: number,
  uncommittedMicroVnd: number,
) => ({
  ...{ availableMicroVnd, heldMicroVnd, uncommittedMicroVnd },
});

t.test("a call that was posted cannot be held", async (t) => {
  const store = await opened(t);
  store.hold(holdRequest("c1", 10));
  store.post(post("c1", 5));
  t.throws(() => store.hold(holdRequest("c1", 10)), /c1 was posted before it was held/);
  t.strictSame(store.balances("A"), balances(START - 5, 0, 5));
});

t.test("a call without its wallet or a purse can be posted only if it costs nothing", async (t) => {
  const store = await opened(t);
  t.throws(() => store.post(post("c1", 1, { accountId: "B" })), /its wallet is not loaded/);
  t.throws(() => store.post(post("c1", 1, { purses: ["day"] })), /its wallet is not loaded/);
  t.match(store.post(post("c2", 0, { accountId: "B" })), { chargedMicroVnd: 0, duplicate: false });
  t.equal(store.uncommittedCalls(), 1);
});

t.test("a post without a hold that the journal refuses gives its charge back", async (t) => {
  const store = await opened(t, 1_500);
  t.throws(() => store.post(post("c1", 7, { model: "m".repeat(2_000) })), /full/);
  t.strictSame(store.balances("A"), balances(START, 0, 0));
});

t.test("a debit that the journal refuses takes nothing", async (t) => {
  const store = await opened(t, 1_500);
  const debit = debitOf({ ...movement(-30n), reason: "r".repeat(2_000) }, Date.now());
  t.throws(() => store.debit(debit), /full/);
  t.strictSame(store.balances("A"), balances(START, 0, 0));
});

t.test("a restore takes no hold while it waits for the calls that run", async (t) => {
  const store = await opened(t);
  t.equal(store.hold(holdRequest("c1", 10)).kind, "held");
  const restored = store.restoreFromLedger();
  t.match(store.hold(holdRequest("c2", 10)), { kind: "unavailable", reason: /loaded.*again/ });
  store.void("c1");
  t.strictSame(await restored, { kind: "restored" });
  t.equal(store.hold(holdRequest("c3", 10)).kind, "unknown");
});
