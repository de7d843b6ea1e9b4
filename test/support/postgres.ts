import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { connect } from "../../core/database/client.ts";
import { recordedLog } from "./log.ts";
import { migrateAll } from "./migrations.ts";
import { startPostgresServer } from "./postgres-server.ts";

/**
 * A few test files side by side, each with a few gateways of ten connections. Hundreds of databases that live for
 * seconds need neither vacuum nor checkpoints on time, nor a log for replicas.
 */
const RUN_SETTINGS = [
  ...["max_connections=400", "autovacuum=off", "checkpoint_timeout=1d", "max_wal_size=4GB"],
  ...["wal_level=minimal", "max_wal_senders=0"],
];
/**
 * Between two times at which a run drops the databases that its tests have left. A drop writes to the disk all that the
 * tests beside it have changed, and waits for it: seconds on a busy machine, and a tenth for each that follows at once.
 */
const DROP_EVERY_MS = 60_000;
const SERVER = "DATABASE_URL";
/** Environment variable of a run's test files: the name of a database that has all migrations. */
const TEMPLATE = "TOLLGATE_TEST_TEMPLATE";

/** Tables of the statements and locks on a test's own database: its server has those of other tests too. */
export const OWN_STATEMENTS =
  "(select * from pg_stat_activity where datname = current_database()) own_statements";
/** Not by statements: Postgres reads those once in a transaction. The lock on a transaction's id names no database. */
export const OWN_LOCKS = `(select * from pg_locks where pid in (
    select pid from pg_locks join pg_database on pg_database.oid = database
    where datname = current_database()
  )) own_locks`;

/** A database for one test. */
export interface TestPostgres {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * An empty database for a test. It is on the server that DATABASE_URL names (`npm test` starts one
 * if the variable is not set), else on its own server.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const server = process.env[SERVER];
  return server ? createDatabase(server) : startPostgresServer();
}

/**
 * A database as a gateway leaves it after its first start; undefined if a test file runs by itself.
 */
export async function migratedDatabase(): Promise<TestPostgres | undefined> {
  const [server, template] = [process.env[SERVER], process.env[TEMPLATE]];
  return server && template ? createDatabase(server, template) : undefined;
}

/**
 * Starts the parts that all test files of a run share: a server, unless DATABASE_URL names one, and
 * a database to copy, which takes 40 ms instead of 250 ms for the migrations. `env` is the
 * environment of the test files.
 */
export async function startRunPostgres(): Promise<{
  env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}> {
  const given = process.env[SERVER];
  const own = given ? undefined : await startPostgresServer({ settings: RUN_SETTINGS });
  const server = given ?? own?.url ?? "";
  const template = await createDatabase(server);
  await migrateFor(template.url);
  const name = new URL(template.url).pathname.slice(1);
  // Postgres refuses to copy a database that has connections, even one of its own vacuum.
  await command(server, `alter database ${name} with allow_connections false`);
  let dropped = Promise.resolve();
  const timer = setInterval(() => {
    dropped = dropped.then(() => dropLeft(server)).catch(console.error);
  }, DROP_EVERY_MS);
  return {
    env: { [SERVER]: server, [TEMPLATE]: name },
    async stop() {
      clearInterval(timer);
      await dropped;
      if (own) return own.stop();
      // The template goes too if a test's database cannot be dropped.
      await dropLeft(server).catch(console.error);
      await template.stop();
    },
  };
}

/** Marks a database for the next drop. A test that forgets a connection would keep it, and go on running. */
async function leave(server: string, name: string): Promise<void> {
  // One after the other: a connection that comes between them is refused only once the first is committed.
  await command(server, `alter database ${name} with allow_connections false connection limit 0`);
  const close = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`;
  await command(server, close);
}

/** Drops the databases that `leave` has marked. A server of DATABASE_URL may have others that take no connections. */
async function dropLeft(server: string): Promise<void> {
  const left = await command(
    server,
    "select datname from pg_database where datconnlimit = 0 and datname ~ '^tollgate_test_[0-9a-f]{32}$'",
  );
  for (const { datname } of left) await command(server, dropping(datname));
}

/** `if exists`: another run on the same server may drop it first. */
function dropping(name: string): string {
  return `drop database if exists ${name} with (force)`;
}

async function createDatabase(server: string, template = "template1"): Promise<TestPostgres> {
  const name = `tollgate_test_${randomUUID().replaceAll("-", "")}`;
  await command(server, `create database ${name} template ${template}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const isOfRun = process.env[TEMPLATE] !== undefined;
  return {
    url: url.href,
    async stop() {
      await (isOfRun ? leave(server, name) : command(server, dropping(name)));
    },
  };
}

/** Opens a connection for each command: a cached one that a test forgets would keep it running. */
async function command(server: string, text: string): Promise<readonly postgres.Row[]> {
  const sql = postgres(server, { max: 1 });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end();
  }
}

async function migrateFor(url: string): Promise<void> {
  const { log } = recordedLog();
  const sql = connect({ server: { url }, connectionsMax: 1, statementTimeoutMs: 0, log });
  try {
    await migrateAll(sql);
  } finally {
    await sql.end(1);
  }
}
