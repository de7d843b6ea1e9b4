import assert from "node:assert/strict";
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { connect, type Sql } from "../../../../core/database/client.ts";
import { EmbeddedDatabase } from "../../../../core/database/embedded.ts";
import { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { copyEmptyLedger } from "../../../support/ledger-template.ts";
import { recordedLog } from "../../../support/log.ts";
import { ledgerConformance } from "./conformance.ts";
import { AT, agreedBalance, charge, fundedAccount } from "./fixtures.ts";

const CHILD = fileURLToPath(new URL("./committing-child.js", import.meta.url));
const SERVER = fileURLToPath(
  new URL("../../../../core/database/embedded-server.js", import.meta.url),
);
/** `KILLS=40` for a longer run. */
const KILLS = Number(process.env["KILLS"] ?? 2);

const clock = { now: () => AT, monotonic: () => 0 };
const { log, lines } = recordedLog();

let folder: string;
let database: EmbeddedDatabase;
let ledger: PostgresLedger;
let sql: Sql;

function open(path: string, lockWaitMs = 60_000): [EmbeddedDatabase, PostgresLedger] {
  const server = new EmbeddedDatabase({ folder: path, lockWaitMs, log });
  return [server, new PostgresLedger({ server, clock, log })];
}

t.before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-ledger-"));
  [database, ledger] = open(folder);
  await ledger.start();
  const server = { socketPath: database.socketPath };
  sql = connect({ server, connectionsMax: 1, statementTimeoutMs: 0, log });
});

t.teardown(async () => {
  await sql.end(1);
  await ledger.stop();
  rmSync(folder, { recursive: true, force: true });
});

ledgerConformance(t, "embedded", () => ({ ledger, sql, isConcurrent: false }));

t.test("other users cannot read the database or open its socket", async (t) => {
  t.equal(statSync(database.socketPath).mode & 0o077, 0);
  t.equal(statSync(join(folder, "postgres")).mode & 0o077, 0);
});

t.test("a second gateway on the folder is refused, and the first continues", async (t) => {
  const [, second] = open(folder, 100);
  await t.rejects(second.start(), /is in use by process \d+; stop it first/);
  await second.stop();
  await ledger.ping(5_000);
});

t.test("a folder too deep for a socket works", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "tollgate-deep-"));
  const data = join(root, "x".repeat(60), "y".repeat(60));
  await copyEmptyLedger(data);
  const deep = join(data, "ledger");
  const [server, other] = open(deep);
  t.ok(server.socketPath.length < 100);
  await other.start();
  await other.ping(5_000);
  await other.stop();
  rmSync(root, { recursive: true, force: true });
});

t.test("a database killed at any time restarts with every committed call", async (t) => {
  const a = await fundedAccount(ledger, 1_000_000n);
  let committed = 0;
  let failed = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const { pid } = database;
    assert.ok(pid !== undefined);
    setTimeout(() => process.kill(pid, "SIGKILL"), Math.random() * 200);
    for (let entry = charge(a, 1); database.pid === pid; entry = charge(a, 1)) {
      // Retry the same batch until it is committed, as the committer does.
      while (!(await succeeds(ledger.commit([entry])))) {
        failed += 1;
        await delayed(10);
      }
      committed += 1;
    }
  }
  t.ok(failed > 0, "no kill was noticed");
  t.equal(await agreedBalance(ledger, a), 1_000_000n - BigInt(committed));
  t.ok(lines.some((line) => /died; restarting it/.test(String(line["msg"]))));
});

t.test(
  "a database that starts after its gateway died ends, and does not block the next gateway",
  async (t) => {
    const path = mkdtempSync(join(tmpdir(), "tollgate-orphan-"));
    const child = fork(SERVER, [join(path, "ledger"), join(path, "socket"), "5000"]);
    child.disconnect();
    const [code] = await once(child, "exit");
    t.equal(code, 0);
    rmSync(path, { recursive: true, force: true });
  },
);

t.test("a gateway killed at any time leaves a database that the next one opens", async (t) => {
  const path = mkdtempSync(join(tmpdir(), "tollgate-gateway-"));
  const answers = join(path, "answers");
  const data = join(path, "ledger");
  for (let kill = 0; kill < KILLS; kill += 1) {
    const child = spawn(process.execPath, [CHILD, data, answers], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    // The first kills hit the creation of the database, the others its work.
    const ended = once(child, "close");
    const wait = kill === 0 ? delayed(Math.random() * 3_000) : once(child.stdout, "data");
    await Promise.race([wait, ended]);
    await delayed(Math.random() * 300);
    child.kill("SIGKILL");
    await ended;
    t.equal(child.signalCode, "SIGKILL");
  }
  const [, last] = open(data);
  // Stop the database even if a check fails: a running database keeps this file from ending.
  t.teardown(async () => {
    await last.stop();
    rmSync(path, { recursive: true, force: true });
  });
  await last.start();
  const answered = existsSync(answers) ? readFileSync(answers, "utf8").split("\n") : [];
  const kept = new Set<string>();
  for await (const { accountId } of last.sums()) {
    await agreedBalance(last, accountId);
    for (const record of await last.usage({ accountId, limit: 1e6 })) {
      kept.add(record.callId);
    }
  }
  // The last line may be incomplete.
  const lost = answered.filter((callId) => callId.length === 36 && !kept.has(callId));
  t.strictSame(lost, []);
  t.ok(KILLS < 2 || kept.size > 0);
});

function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

function delayed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
