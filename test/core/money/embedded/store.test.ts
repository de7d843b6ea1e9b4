import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import {
  createEmbeddedHoldStore,
  type EmbeddedHoldStore,
} from "../../../../core/money/embedded/store.ts";
import type { Purse } from "../../../../core/money/hold-store.ts";
import type { LedgerHistory } from "../../../../core/money/ledger-history.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { recordedLog } from "../../../support/log.ts";
import { callIdOf, posting } from "../../../support/posting.ts";
import { until } from "../../../support/until.ts";
import { holdStoreConformance } from "../conformance.ts";
import type { HoldStoreUnderTest } from "../under-test.ts";

const { log } = recordedLog();

interface Limits {
  readonly bytesMax?: number;
  readonly outboxEntriesMax?: number;
}

function storeIn(
  folder: string,
  limits: Limits = {},
  history: LedgerHistory = new MemoryHistory(),
) {
  return createEmbeddedHoldStore({
    journal: { folder, bytesMax: limits.bytesMax ?? 1_000_000, sync: false, log },
    outboxEntriesMax: limits.outboxEntriesMax ?? 10_000,
    history,
  });
}

async function start(folder: string, limits: Limits = {}) {
  const store = storeIn(folder, limits);
  await store.start();
  return store;
}

function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), "tollgate-hold-store-"));
}

async function underTest(folder: string): Promise<HoldStoreUnderTest> {
  const store = await start(folder);
  const dispose = async () => {
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    store,
    // A copy of the files has what the page cache had at the kill.
    async crash() {
      const copy = temporaryFolder();
      cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith("lock") });
      await dispose();
      return underTest(copy);
    },
    dispose,
  };
}

holdStoreConformance(t, "embedded", () => underTest(temporaryFolder()));

async function withStore(
  limits: Limits,
  body: (store: EmbeddedHoldStore) => Promise<void>,
): Promise<void> {
  const folder = temporaryFolder();
  const store = await start(folder, limits);
  try {
    await store.load("A", async () => ({
      accountId: "A",
      balanceMicroVnd: 1_000_000n,
      creditVersion: 1,
      creditedMicroVnd: 1_000_000n,
    }));
    await body(store);
  } finally {
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function hold(store: EmbeddedHoldStore, callId: string, purses: Purse[] = []) {
  const amounts = { amountMicroVnd: 10, floorMicroVnd: 10 };
  return store.hold({ callId, accountId: "A", keyId: "K", ...amounts, purses });
}

t.test("results are synchronous", async (t) =>
  withStore({}, async (store) => {
    t.ok(!(hold(store, "c1") instanceof Promise));
    t.ok(!(store.post(posting({ callId: "c1", accountId: "A" })) instanceof Promise));
  }),
);

t.test("new calls are refused while the outbox is full, and running ones end", async (t) =>
  withStore({ outboxEntriesMax: 2 }, async (store) => {
    for (const callId of ["c1", "c2", "c3"]) t.equal(hold(store, callId).kind, "held");
    for (const callId of ["c1", "c2", "c3"]) store.post(posting({ callId, accountId: "A" }));
    t.equal(store.uncommittedCalls(), 3);
    const refused = hold(store, "c4");
    assert.ok(refused.kind === "unavailable");
    t.match(refused.reason, /3 posted calls are not in the ledger yet/);
    store.acknowledge(await store.read(2, 0));
    t.equal(hold(store, "c4").kind, "held");
  }),
);

t.test("a hold is refused if the journal would have no room for its post", async (t) =>
  withStore({ bytesMax: 4_096 }, async (store) => {
    let held = 0;
    while (hold(store, `c${held}`).kind === "held") held += 1;
    t.ok(held > 0 && held <= 4, `${held} calls were let in`);
    for (let call = 0; call < held; call += 1) {
      store.post(posting({ callId: `c${call}`, accountId: "A" }));
    }
  }),
);

t.test("a post that the journal refuses changes nothing", async (t) =>
  withStore({ bytesMax: 1_500 }, async (store) => {
    const amounts = { balanceMicroVnd: 0n, creditVersion: 0, creditedMicroVnd: 0n };
    await store.load("A", async () => ({ accountId: "A", ...amounts }), "day");
    const purses = [{ name: "day", limitMicroVnd: 50 }];
    t.equal(hold(store, "c1", purses).kind, "held");
    const long = "m".repeat(2_000);
    const post = posting({ callId: "c1", accountId: "A", costMicroVnd: 7, model: long });
    t.throws(() => store.post(post), /journal .* is full/);
    const expected = { availableMicroVnd: 999_990, heldMicroVnd: 10, uncommittedMicroVnd: 0 };
    t.strictSame(store.balances("A"), expected);
    t.strictSame(store.balances("A", "day"), { ...expected, availableMicroVnd: -10 });
    t.equal(store.uncommittedCalls(), 0);
  }),
);

const START = 1_000_000;

function balances(availableMicroVnd: number, heldMicroVnd: number, uncommittedMicroVnd: number) {
  return { availableMicroVnd, heldMicroVnd, uncommittedMicroVnd };
}

function post(callId: string, costMicroVnd: number, more: { model?: string } = {}) {
  return posting({ callId, accountId: "A", costMicroVnd, ...more });
}

t.test(
  "of calls posted together, those that cannot be kept stay held and the others are posted",
  async (t) =>
    withStore({}, async (store) => {
      for (const callId of ["c1", "long", "c2", "wrong", "c3"]) hold(store, callId);
      const answers = store.postAll([
        post("c1", 1),
        post("long", 2, { model: "m".repeat(70_000) }),
        post("c2", 3),
        post("wrong", 0.5),
        post("c3", 4),
      ]);
      t.strictSame(
        answers.map((answer) => (answer instanceof Error ? answer.name : answer.chargedMicroVnd)),
        [1, "JournalFull", 3, "RangeError", 4],
      );
      t.strictSame(store.balances("A"), balances(START - 28, 20, 8));
      const entries = await store.read(10, 0);
      t.strictSame(entries.map(callIdOf), ["c1", "c2", "c3"]);
    }),
);

t.test("reading waits for a post and no longer than asked", async (t) =>
  withStore({}, async (store) => {
    t.strictSame(await store.read(10, 5), []);
    const reading = store.read(10, 60_000);
    store.post(posting({ callId: "c1", accountId: "A" }));
    t.equal((await reading)[0]?.posting?.callId, "c1");
  }),
);

t.test("a stop ends the loads that wait for calls of before the start", async (t) => {
  const folder = temporaryFolder();
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const before = await start(folder);
  before.post(posting({ callId: "c", accountId: "A", costMicroVnd: 0 }));
  await before.stop();
  const store = await start(folder);
  const loading = t.rejects(
    store.load("B", async () => undefined),
    /is stopping/,
  );
  await store.stop();
  await loading;
});

t.test("a start is not ready while a load would wait for a long backlog of before", async (t) => {
  const folder = temporaryFolder();
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const limits = { bytesMax: 30_000_000, outboxEntriesMax: 30_000 };
  const before = await start(folder, limits);
  await before.load("A", async () => ({
    accountId: "A",
    balanceMicroVnd: 1_000_000n,
    creditVersion: 1,
    creditedMicroVnd: 1_000_000n,
  }));
  const posts = Array.from({ length: 20_001 }, (_, n) =>
    posting({ callId: `c${n}`, accountId: "A", costMicroVnd: 1 }),
  );
  for (let n = 0; n < posts.length; n += 1_000) before.postAll(posts.slice(n, n + 1_000));
  // A busy machine may take seconds to write them.
  await until("the disk has them", () => before.unsyncedMs() < 3_000);
  t.strictSame(before.health(), { kind: "ok" }, "its own calls are in memory");
  await before.stop();

  const store = await start(folder, limits);
  const reason = /^20001 calls that were posted before the start are not in the ledger yet$/;
  t.match(store.health(), { kind: "away", cause: "replaying", reason });
  store.acknowledge(await store.read(1, 0));
  t.strictSame(store.health(), { kind: "ok" });
  await store.stop();
});
