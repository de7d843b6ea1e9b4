import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { connect } from "../../../core/database/client.ts";
import { EmbeddedDatabase } from "../../../core/database/embedded.ts";
import { remoteServer } from "../../../core/database/server.ts";
import { Committer } from "../../../core/money/committer.ts";
import { createEmbeddedHoldStore } from "../../../core/money/embedded/store.ts";
import { createPostgresLedger, type PostgresLedger } from "../../../core/money/ledger/postgres.ts";
import type { Ledger } from "../../../core/money/ledger.ts";
import { createStoredWallets } from "../../../core/money/stored-wallets.ts";
import { systemClock } from "../../../core/process/clock.ts";
import { newId } from "../../../core/process/id.ts";
import { MemoryHistory } from "../../support/commit-counts.ts";
import { copyEmptyLedger } from "../../support/ledger-template.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgresServer } from "../../support/postgres-server.ts";
import { posting } from "../../support/posting.ts";
import { accountsIn } from "../../support/stored-accounts.ts";
import { until } from "../../support/until.ts";

/** `KILLS=50` for a longer run. */
const KILLS = Number(process.env["KILLS"] ?? 2);
const CREDIT = 1_000_000_000n;
const { log } = recordedLog();
const clock = systemClock;

/** Runs and commits calls while the ledger's database is killed repeatedly. No call is lost or charged twice. */
async function surviveKills(ledger: PostgresLedger, kill: () => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-commit-"));
  const journal = { folder, bytesMax: 100_000_000, sync: false, log };
  const holdStore = createEmbeddedHoldStore({
    journal,
    outboxEntriesMax: 1_000_000,
    history: new MemoryHistory(),
  });
  await holdStore.start();
  const wallets = createStoredWallets({ holdStore, ledger });
  const committer = new Committer({ holdStore, ledger, log, batchEntries: 100, lingerMs: 1 });
  committer.start();
  const accountId = newId(clock.now());
  await accountsIn(ledger.database).create({ id: accountId, email: `${accountId}@example.com` });
  await wallets.credit(movement(accountId));
  const requestOf = (callId: string) => {
    return { callId, accountId, keyId: "K", amountMicroVnd: 99, floorMicroVnd: 1 };
  };
  // The first call is refused if the ledger is killed, or busy for a second, while the wallet is loaded.
  const first = newId(clock.now());
  await until("the wallet is loaded", async () => {
    return (await wallets.hold(requestOf(first))).kind === "held";
  });
  await wallets.void(first, accountId);
  let charged = 0n;
  let running = true;
  const traffic = (async () => {
    for (let n = 0; running; n += 1) {
      const callId = newId(clock.now());
      // A slow disk refuses new holds for a moment.
      await until("money is held", async () => {
        return (await wallets.hold(requestOf(callId))).kind === "held";
      });
      const at = clock.now();
      const cost = { costMicroVnd: n % 100, at };
      charged += BigInt(
        (await wallets.post(posting({ callId, accountId, ...cost }))).chargedMicroVnd,
      );
      // The backlog from the restart of the database must be committed in the end.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  try {
    for (let count = 0; count < KILLS; count += 1) await kill();
  } finally {
    running = false;
    await traffic;
    // Also after a failure: its timers would keep the process.
    await committer.stop(120_000);
    await holdStore.stop();
  }
  assert.equal(holdStore.uncommittedCalls(), 0);
  assert.equal((await ledger.wallet(accountId))?.balanceMicroVnd, CREDIT - charged);
  for await (const row of wallets.reconcile()) assert.equal(row.driftMicroVnd, 0n);
  rmSync(folder, { recursive: true, force: true });
}

function movement(accountId: string) {
  const reference = newId(clock.now());
  return { accountId, amountMicroVnd: CREDIT, reference, kind: "topup", reason: null } as const;
}

function soon(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
}

t.test("Postgres is killed again and again while calls run", async () => {
  const postgres = await startPostgresServer();
  const server = { url: postgres.url };
  const sql = connect({ server, connectionsMax: 4, statementTimeoutMs: 10_000, log });
  const ledger = createPostgresLedger({ server: remoteServer(sql), clock, log });
  await ledger.start();
  try {
    await surviveKills(ledger, async () => {
      await soon();
      await postgres.kill();
      await soon();
      await postgres.restart();
      await answersAgain(ledger);
    });
  } finally {
    await ledger.stop();
    await postgres.stop();
  }
});

t.test("the embedded database is killed again and again while calls run", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-commit-"));
  await copyEmptyLedger(folder);
  const server = new EmbeddedDatabase({ folder: join(folder, "ledger"), log });
  const ledger = createPostgresLedger({ server, clock, log });
  await ledger.start();
  try {
    await surviveKills(ledger, async () => {
      await soon();
      const { pid } = server;
      if (pid !== undefined) process.kill(pid, "SIGKILL");
      // A session of the killed server may answer once more.
      do await answersAgain(ledger);
      while (server.pid === pid);
    });
  } finally {
    await ledger.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

async function answersAgain(ledger: Ledger): Promise<void> {
  for (;;) {
    try {
      return await ledger.ping(5_000);
    } catch {
      await soon();
    }
  }
}
