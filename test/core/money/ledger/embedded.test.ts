import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { EmbeddedDatabase, lowerPriority } from "../../../../core/database/embedded.ts";
import { databaseUser } from "../../../../core/database/embedded-folder.ts";
import {
  endOfOutput,
  exitFault,
  packagedBuild,
  runProgram,
} from "../../../../core/database/postgres-build.ts";
import {
  createPostgresLedger,
  type PostgresLedger,
} from "../../../../core/money/ledger/postgres.ts";
import { codeOf } from "../../../../core/process/thrown.ts";
import { copyEmptyLedger } from "../../../support/ledger-template.ts";
import { recordedLog } from "../../../support/log.ts";
import { until } from "../../../support/until.ts";
import { AT, agreedBalance, charge, fundedAccount, topUp } from "./fixtures.ts";

/** `KILLS=40` for a longer run. */
const KILLS = Number(process.env["KILLS"] ?? 2);
const SECRET = "sk-of-a-provider";

const clock = { now: () => AT, monotonic: () => 0 };
const { log, lines } = recordedLog();

/** Closed to all but its owner, as a home is; so is all below it. */
const root = mkdtempSync(join(tmpdir(), "tollgate-ledger-"));
const folder = join(root, "data", "ledger");
let database: EmbeddedDatabase;
let ledger: PostgresLedger;

/** Only commits sync, not a process that writes ahead of them and reports its syncs much later. */
const settings = { wal_writer_delay: "10s" };

function open(path: string, lockWaitMs = 60_000): [EmbeddedDatabase, PostgresLedger] {
  const server = new EmbeddedDatabase({ folder: path, lockWaitMs, settings, log });
  return [server, createPostgresLedger({ server, clock, log })];
}

/** A folder with a copy of an empty ledger. */
async function copied(name: string): Promise<string> {
  const data = join(root, name);
  await copyEmptyLedger(data);
  return join(data, "ledger");
}

t.before(async () => {
  process.env["UPSTREAM_KEY"] = SECRET;
  [database, ledger] = open(folder);
  await ledger.start();
});

t.teardown(async () => {
  await ledger.stop();
  rmSync(root, { recursive: true, force: true });
});

t.test("a start waits for a disk on which the server is ready hours later", async (t) => {
  const [, slow] = open(await copied("slow-disk"));
  const now = performance.now.bind(performance);
  let hours = 0;
  performance.now = () => now() + 3_600_000 * hours++;
  try {
    await t.resolves(slow.start());
  } finally {
    performance.now = now;
  }
  await slow.stop();
});

t.test("other users cannot read the database or open its socket", async (t) => {
  t.equal(statSync(database.socketPath).mode & 0o077, 0);
  t.equal(statSync(folder).mode & 0o077, 0);
  t.equal(statSync(join(folder, "postgres")).mode & 0o077, 0);
  const [row] = await database.sql.query("select current_setting('listen_addresses') as addresses");
  t.strictSame(row, { addresses: "" });
});

t.test("the server runs without the gateway's keys, and never as root", async (t) => {
  if (process.platform !== "linux") return;
  t.notMatch(readFileSync(`/proc/${database.pid}/environ`, "utf8"), SECRET);
  t.not(statSync(`/proc/${database.pid}`).uid, 0);
  t.not(statSync(join(folder, "postgres")).uid, 0);
});

t.test("the server and the sessions of its processes run after the gateway", async (t) => {
  if (process.platform !== "linux") return;
  const pid = database.pid ?? 0;
  t.equal(getPriority(pid), 19);
  const [row] = await database.commits.query<{ pid: number }>("select pg_backend_pid() as pid");
  const session = `/proc/${row?.pid}/autogroup`;
  if (!existsSync(session)) return;
  await until("its session is lowered", () => readFileSync(session, "utf8").includes("nice 19"));
});

t.test("a session that a process begins after it was seen is lowered too", async (t) => {
  if (!existsSync("/proc/self/autogroup")) return;
  const child = "sh -c 'read line; exec setsid sleep 600'";
  const parent = spawn("sh", ["-c", `exec 3<&0; ${child} <&3 & echo $!; wait`], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const [pid] = await once(parent.stdout, "data");
  const end = lowerPriority(parent.pid ?? 0);
  t.teardown(() => {
    end();
    for (const each of [Number(pid), -(parent.pid ?? 0)]) process.kill(each, "SIGKILL");
  });
  const session = () => readFileSync(`/proc/${Number(pid)}/autogroup`, "utf8");
  await until("it is lowered", () => session().includes("nice 19"));
  const first = session();
  parent.stdin.write("\n");
  await until("its own session is lowered", () => {
    const own = session();
    return own !== first && own.includes("nice 19");
  });
});

t.test(
  "each confirmed top-up is synced to the disk, and a batch of calls shares a sync",
  async (t) => {
    const { sql } = database;
    const syncs = async () => {
      // Each connection counts for itself, and reports 10 s later if it is not asked.
      for (const each of [sql, database.commits]) {
        await each.query("select pg_stat_force_next_flush()");
      }
      const text = "select sum(fsyncs)::int as syncs from pg_stat_io where object = 'wal'";
      const [row] = await sql.query<{ syncs: number }>(text);
      return row?.syncs ?? 0;
    };
    const a = await fundedAccount(ledger, 1_000_000n);
    const before = await syncs();
    for (let n = 0; n < 20; n += 1) await ledger.credit(topUp(a, 1n));
    await until("each is synced", async () => (await syncs()) - before >= 20);
    const credited = await syncs();
    await ledger.commit(Array.from({ length: 500 }, () => charge(a, 1)));
    await until("its sync is counted", async () => (await syncs()) > credited);
    const batch = (await syncs()) - credited;
    t.ok(batch < 50, `${batch} syncs of a batch of 500`);
  },
);

t.test("a second gateway on the folder is refused, and the first continues", async (t) => {
  const [, second] = open(folder, 100);
  await t.rejects(second.start(), /is in use by process \d+; stop it first/);
  await second.stop();
  await ledger.ping(5_000);
});

t.test("a folder too deep for a socket works", async (t) => {
  const [server, other] = open(await copied(join("x".repeat(60), "y".repeat(60))));
  t.ok(server.socketPath.length < 100);
  await other.start();
  t.equal(statSync(join(server.socketPath, "..")).mode & 0o077, 0);
  await other.ping(5_000);
  await other.stop();
  await until("its folder is gone", () => !existsSync(join(server.socketPath, "..")));
});

t.test("a folder that a kill left incomplete is made again", async (t) => {
  const path = join(root, "incomplete");
  mkdirSync(join(path, "postgres.new-1", "base"), { recursive: true });
  const server = new EmbeddedDatabase({ folder: path, log });
  await server.start();
  t.strictSame((await server.sql.query("select 1 as one")).length, 1);
  t.notOk(readdirSync(path).some((name) => name.startsWith("postgres.new")));
  await server.stop();
});

t.test("a folder of another Postgres is refused, with what to do", async (t) => {
  const path = await copied("older");
  writeFileSync(join(path, "postgres", "PG_VERSION"), "17\n");
  const [, other] = open(path);
  await t.rejects(
    other.start(),
    /is of Postgres 17, and this build has 18\. .* pg_dump of Postgres 17/,
  );
  await other.stop();
});

t.test("a system without a build gets the way out", async (t) => {
  t.throws(
    () => packagedBuild(join(root, "lib"), "sunos-x64"),
    /no Postgres for sunos-x64.*stores\.ledger/,
  );
  t.match(exitFault(127, null, "postgres: not found"), /Alpine.*stores\.ledger/);
});

t.test("a server that a killed gateway left running is ended", async (t) => {
  const path = await copied("left");
  const [, first] = open(path);
  await first.start();
  await first.stop();
  const [server, other] = open(path);
  const files = join(path, "postgres");
  const build = packagedBuild(join(root, "lib-of-left"));
  const left = runProgram(build, "postgres", ["-D", files, "-k", path, "-c", "listen_addresses="], {
    user: databaseUser(path),
  });
  const output = endOfOutput(left);
  await until("it runs", () => /ready to accept/.test(output.text));
  await other.start();
  t.ok(left.exitCode !== null || left.signalCode !== null);
  t.not(server.pid, left.pid);
  await other.ping(5_000);
  await other.stop();
});

t.test("a process id that another program has today does not block a start", async (t) => {
  const path = await copied("reused");
  const [server, first] = open(path);
  await first.start();
  const files = join(path, "postgres");
  const [pid, ...rest] = readFileSync(join(files, "postmaster.pid"), "utf8").split("\n");
  t.equal(Number(pid), server.pid);
  await first.stop();
  const sleeper = spawn("sleep", ["600"], { ...databaseUser(path) });
  writeFileSync(join(files, "postmaster.pid"), [sleeper.pid, ...rest].join("\n"));
  const [, other] = open(path);
  await other.start();
  await other.ping(5_000);
  await other.stop();
  t.equal(sleeper.exitCode, null);
  sleeper.kill();
});

t.test("a database killed at any time restarts with every committed call", async (t) => {
  const a = await fundedAccount(ledger, 1_000_000n);
  let committed = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    await until("it runs again", () => database.pid !== undefined);
    const pid = database.pid ?? 0;
    setTimeout(() => killed(pid), Math.random() * 200);
    for (let entry = charge(a, 1); database.pid === pid; entry = charge(a, 1)) {
      // Retry the same batch until it is committed, as the committer does.
      while (!(await succeeds(ledger.commit([entry])))) await delay(10);
      committed += 1;
    }
  }
  // A kill may fail no commit: the connection of a killed server finishes what it has begun, and takes a ping.
  await until("it takes connections again", () => succeeds(agreedBalance(ledger, a)));
  t.equal(await agreedBalance(ledger, a), 1_000_000n - BigInt(committed));
  t.ok(lines.some((line) => /died; restarting it/.test(String(line["msg"]))));
});

/** Kills a server. One that met connections of the server before it has ended by itself, and another runs. */
function killed(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
