import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { connect } from "../../core/database/client.ts";
import { recordedLog } from "./log.ts";
import { migrateAll } from "./migrations.ts";
import { startPostgresServer } from "./postgres-server.ts";

/** Some test files side by side, each with some gateways that have ten connections each. */
const CONNECTIONS_MAX = 400;
const SERVER = "DATABASE_URL";
/** In the environment of a run's test files: the name of a database in which the migrations have run. */
const TEMPLATE = "TOLLGATE_TEST_TEMPLATE";

/** A database of a test's own. */
export interface TestPostgres {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * An empty database for a test: on the server that DATABASE_URL names, which `npm test` starts where nobody
 * has given one, else on a server of its own.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const server = process.env[SERVER];
  return server ? createDatabase(server) : startPostgresServer();
}

/** A database as a gateway leaves it after its first start; undefined where a test file runs by itself. */
export async function migratedDatabase(): Promise<TestPostgres | undefined> {
  const [server, template] = [process.env[SERVER], process.env[TEMPLATE]];
  return server && template ? createDatabase(server, template) : undefined;
}

/**
 * What all test files of a run share: a server, unless DATABASE_URL names one, and a database to copy, which
 * takes 40 ms where the migrations take 250. `env` tells the test files.
 */
export async function startRunPostgres(): Promise<{
  env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}> {
  const given = process.env[SERVER];
  const own = given ? undefined : await startPostgresServer(CONNECTIONS_MAX);
  const server = given ?? own?.url ?? "";
  const template = await createDatabase(server);
  await migrateFor(template.url);
  const name = new URL(template.url).pathname.slice(1);
  // Nobody can copy a database that somebody is connected to, be it the server's own vacuum.
  await command(server, `alter database ${name} with allow_connections false`);
  return {
    env: { [SERVER]: server, [TEMPLATE]: name },
    async stop() {
      if (own) await own.stop();
      else await template.stop();
    },
  };
}

async function createDatabase(server: string, template = "template1"): Promise<TestPostgres> {
  const name = `tollgate_test_${randomUUID().replaceAll("-", "")}`;
  await command(server, `create database ${name} template ${template}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, stop: () => command(server, `drop database ${name} with (force)`) };
}

/** No connection is kept: one that a test forgets would let it run for ever. */
async function command(server: string, text: string): Promise<void> {
  const sql = postgres(server, { max: 1 });
  try {
    await sql.unsafe(text);
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
