import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { messagesEndpoint } from "../../../core/catalogue/endpoint.ts";
import { Backlog } from "../../../core/money/backlog.ts";
import { Committer } from "../../../core/money/committer.ts";
import { createEmbeddedHoldStore } from "../../../core/money/embedded/store.ts";
import { Pace } from "../../../core/money/pace.ts";
import { createStoredWallets } from "../../../core/money/stored-wallets.ts";
import type { Call } from "../../../core/plugin/call.ts";
import { MemoryHistory } from "../../support/commit-counts.ts";
import { recordedLog } from "../../support/log.ts";
import { posting } from "../../support/posting.ts";
import { StubLedger } from "./stub-ledger.ts";
import { holdRequest, movement } from "./wallet-fixtures.ts";

const ENTRIES_MAX = 500;
const CONNECTIONS = 64;
const CALLS = 3_000;
const BATCH = { batchEntries: 25, lingerMs: 1 };
const COMMIT_MS = 10;

/** Clients that send their next call as soon as they have a reply, at a ledger that is slower than they are. */
async function load(isPaced: boolean) {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-pace-"));
  const { log } = recordedLog();
  const holdStore = createEmbeddedHoldStore({
    journal: { folder, bytesMax: 10_000_000, sync: false, log },
    outboxEntriesMax: ENTRIES_MAX,
    history: new MemoryHistory(),
  });
  await holdStore.start();
  const ledger = new StubLedger();
  ledger.addAccount("A");
  ledger.before = async (what) => {
    if (what === "commit") await sleep(COMMIT_MS);
  };
  const wallets = createStoredWallets({ holdStore, ledger });
  await wallets.credit(movement(BigInt(CALLS)));
  const backlog = new Backlog({ holdStore, entriesMax: ENTRIES_MAX });
  const committer = new Committer({ holdStore, ledger, log, backlog, ...BATCH });
  const pace = new Pace({ backlog, log });
  committer.start();
  let left = CALLS;
  const seen = { served: 0, refused: 0, backlogMost: 0 };

  async function call(callId: string): Promise<void> {
    const call = { endpoint: messagesEndpoint, gone: false, key: { accountId: "A" } } as Call;
    const verdict = isPaced ? await pace.admit(call) : undefined;
    const held = await wallets.hold(holdRequest(callId, 1));
    seen.backlogMost = Math.max(seen.backlogMost, holdStore.uncommittedCalls());
    if (verdict !== undefined || held.kind !== "held") seen.refused += 1;
    else {
      await wallets.post(posting({ callId, accountId: "A", costMicroVnd: 1 }));
      seen.served += 1;
    }
  }

  async function client(): Promise<void> {
    while (left > 0) {
      left -= 1;
      await call(`c${left}`);
    }
  }
  try {
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
    await committer.stop(60_000);
    return { ...seen, committed: ledger.charges.size };
  } finally {
    await holdStore.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

t.test("without a pace, clients that never pause fill the outbox of a slow ledger", async (t) => {
  const { refused, backlogMost } = await load(false);
  t.ok(refused > 0, `${refused} refused`);
  t.ok(backlogMost >= ENTRIES_MAX);
});

t.test("with a pace, they are served at the rate of the ledger, and none is refused", async (t) => {
  const { served, refused, committed, backlogMost } = await load(true);
  t.equal(refused, 0);
  t.equal(served, CALLS);
  t.equal(committed, CALLS);
  t.ok(backlogMost < ENTRIES_MAX, `${backlogMost} uncommitted at most`);
});
