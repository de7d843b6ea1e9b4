import t from "tap";
import { connect, sqlState } from "../../../core/database/client.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";

t.test("the client of Postgres", async (t) => {
  let database: TestPostgres;
  t.before(async () => {
    database = await startPostgres();
  });
  t.teardown(() => database.stop());

  const open = (nowMs = 0) =>
    connect({
      server: { url: database.url },
      connectionsMax: 1,
      statementTimeoutMs: 0,
      log: recordedLog().log,
      nowMs: () => nowMs,
    });

  t.test("a primary that was demoted is left: its address may lead to the new one", async (t) => {
    const sql = open();
    await sql.script("create table written (n integer)");
    // As on a standby: this session refuses writes. A new session accepts them.
    await sql.script("set default_transaction_read_only = on");
    const insert = () => sql.query("insert into written values (1)");
    const refused = await insert().catch(sqlState);
    t.equal(refused, "25006");
    await insert();
    const [row] = await sql.query<{ n: number }>("select count(*)::integer as n from written");
    t.equal(row?.n, 1);
    await sql.end(1);
  });

  t.test("a session that an operator ends is replaced", async (t) => {
    const sql = open();
    const pid = async () => {
      const [row] = await sql.query<{ pid: number }>("select pg_backend_pid() as pid");
      return row?.pid;
    };
    const first = await pid();
    await sql.query("select pg_terminate_backend(pg_backend_pid())").catch(() => {});
    t.not(await pid(), first);
    await sql.end(1);
  });

  t.test("a database that refuses every write is not connected to at each statement", async (t) => {
    const writable = open();
    const name = new URL(database.url).pathname.slice(1);
    await writable.script(`alter database ${name} set default_transaction_read_only = on`);
    const sql = open();
    const sessions = new Set<number>();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const [row] = await sql.query<{ pid: number }>("select pg_backend_pid() as pid");
      if (row) sessions.add(row.pid);
      t.equal(await sql.query("create table never (n integer)").catch(sqlState), "25006");
    }
    t.equal(sessions.size, 2);
    await writable.script(
      `set default_transaction_read_only = off; alter database ${name} reset default_transaction_read_only`,
    );
    await sql.end(1);
    await writable.end(1);
  });
});
