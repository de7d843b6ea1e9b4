import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Committer } from "../../../core/money/committer.ts";
import {
  createEmbeddedHoldStore,
  type EmbeddedHoldStore,
} from "../../../core/money/embedded/store.ts";
import { encodeEntry } from "../../../core/money/entry.ts";
import type { HoldStore } from "../../../core/money/hold-store.ts";
import { Journal } from "../../../core/money/journal/journal.ts";
import type { Ledger } from "../../../core/money/ledger.ts";
import { MemoryHistory } from "../../support/commit-counts.ts";
import { recordedLog } from "../../support/log.ts";
import { callIdOf, posting } from "../../support/posting.ts";
import { startRedisServer } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { startStore } from "./redis/store.ts";
import { StubLedger } from "./stub-ledger.ts";
import { movement } from "./wallet-fixtures.ts";

const NEWER = textOf("newer").replace('"v":1', '"v":2,"later":[1]');
const GARBAGE = "\u0001 no entry";

function textOf(callId: string): string {
  return encodeEntry(posting({ callId, accountId: "A", costMicroVnd: 7 }), 7, 0);
}

async function newLedger(): Promise<StubLedger> {
  const ledger = new StubLedger();
  ledger.addAccount("A");
  await ledger.credit(movement(1_000n));
  return ledger;
}

function commits(holdStore: HoldStore, ledger: Ledger) {
  const logged = recordedLog();
  const committer = new Committer({
    ...{ holdStore, ledger, log: logged.log },
    ...{ batchEntries: 10, lingerMs: 1 },
  });
  committer.start();
  return { committer, logged };
}

/** Writes lines into a journal, as an earlier process did. */
async function writeJournal(folder: string, texts: readonly string[]): Promise<void> {
  const { log } = recordedLog();
  const journal = await Journal.open({ folder, bytesMax: 1_000_000, sync: true, log });
  journal.appendAll(texts);
  await journal.close();
}

/** Returns a store, not started, that finds these lines in its journal. */
async function storeWithJournal(t: Test, texts: readonly string[]): Promise<EmbeddedHoldStore> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-unreadable-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  await writeJournal(folder, texts);
  const { log } = recordedLog();
  return createEmbeddedHoldStore({
    journal: { folder, bytesMax: 1_000_000, sync: false, log },
    ...{ outboxEntriesMax: 10, history: new MemoryHistory() },
  });
}

/** Checks the outcome for one readable entry, one of a newer version, and one text that is not an entry. */
async function assertQuarantined(
  t: Test,
  { committer, logged }: ReturnType<typeof commits>,
  ledger: StubLedger,
): Promise<void> {
  await until(
    "all three are settled",
    () => ledger.parked.length === 2 && ledger.charges.size === 1,
  );
  t.strictSame([...ledger.charges.keys()], ["c1"]);
  t.strictSame(ledger.parked.map(callIdOf), [undefined, undefined]);
  t.strictSame(ledger.parked.map(({ text }) => text).sort(), [GARBAGE, NEWER].sort());
  await until("both are counted", () => committer.status.unreadableEntries === 2);
  t.equal(committer.status.quarantinedCalls, 0);
  const lines = logged.lines.filter(({ msg }) => /cannot read a posted call/.test(String(msg)));
  t.equal(lines.length, 1);
}

t.test("an entry of a newer version in the journal keeps no gateway from starting", async (t) => {
  const store = await storeWithJournal(t, [textOf("c1"), NEWER, GARBAGE]);
  const ledger = await newLedger();
  await store.start();
  const work = commits(store, ledger);
  // The charge of the unreadable call is not available, as the wallet is loaded only once it is in quarantine.
  t.equal(await store.load("A", () => ledger.wallet("A")), true);
  t.equal(store.balances("A")?.availableMicroVnd, 1_000 - 7 - 7);
  await assertQuarantined(t, work, ledger);
  await until("the journal has no entry left", () => store.uncommittedCalls() === 0);
  await work.committer.stop(5_000);
  await store.stop();
});

t.test("with Redis", async (t) => {
  const server = await startRedisServer();
  t.teardown(() => server.stop());

  t.test("an entry of a newer version in a dead gateway's outbox closes no bucket", async (t) => {
    const first = await startStore({ servers: server.url });
    const ledger = await newLedger();
    await first.store.load("A", () => ledger.wallet("A"));
    const call = posting({ callId: "c1", accountId: "A", costMicroVnd: 7 });
    await first.store.post(call);
    const keys = await server.call("KEYS", `${first.prefix}:*:o:*`);
    const outbox = String(Array.isArray(keys) ? keys[0] : "");
    for (const text of [NEWER, GARBAGE]) {
      await server.call("XADD", outbox, "*", "e", text, "c", "7", "o", "0");
    }
    await first.store.stop();

    let work: ReturnType<typeof commits> | undefined;
    const second = await startStore({
      ...{ servers: server.url, prefix: first.prefix, ledger },
      beforeStart: (store) => {
        work = commits(store, ledger);
      },
    });
    if (work === undefined) throw new Error("the committer has not begun");
    await assertQuarantined(t, work, ledger);
    t.equal(await second.store.load("A", () => ledger.wallet("A")), true);
    const orphans = await server.call("KEYS", `${first.prefix}:*orphans`);
    t.strictSame(orphans, []);
    await work.committer.stop(5_000);
    await second.dispose();
  });

  t.test("a spooled post of a newer version goes to quarantine, the others to Redis", async (t) => {
    const spoolFolder = mkdtempSync(join(tmpdir(), "tollgate-spool-"));
    await writeJournal(join(spoolFolder, "0"), [NEWER, textOf("c1"), GARBAGE]);
    const ledger = await newLedger();
    const { store, dispose } = await startStore({ servers: server.url, spoolFolder, ledger });
    const work = commits(store, ledger);
    await assertQuarantined(t, work, ledger);
    await until("both posts are charged to the wallet", async () => {
      await store.load("A", () => ledger.wallet("A"));
      const found = await store.balances("A");
      return found?.availableMicroVnd === 1_000 - 7 - 7 && found.uncommittedMicroVnd === 0;
    });
    await work.committer.stop(5_000);
    t.equal(store.uncommittedCalls(), 0);
    await store.stop();
    const { log } = recordedLog();
    const left = await Journal.open({
      ...{ folder: join(spoolFolder, "0"), bytesMax: 1_000_000, sync: true, log },
    });
    t.strictSame(left.recovered, []);
    await left.close();
    await dispose();
  });
});
