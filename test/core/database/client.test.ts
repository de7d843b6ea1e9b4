import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import t from "tap";
import { connect, sqlState } from "../../../core/database/client.ts";
import { codeOf } from "../../../core/process/thrown.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres } from "../../support/postgres.ts";
import { startPostgresServer } from "../../support/postgres-server.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

t.test("the client of Postgres", async (t) => {
  const database = await startPostgres();
  t.teardown(() => database.stop());

  const open = (url = database.url) =>
    connect({
      server: { url },
      connectionsMax: 1,
      statementTimeoutMs: 0,
      log: recordedLog().log,
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

  t.test("a connection that takes too long leaves those that work alone", async (t) => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const real = Number(new URL(database.url).port);
    const proxy = await startTcpProxy(real);
    const url = new URL(database.url);
    url.port = String(proxy.port);
    const sql = connect({
      server: { url: url.href },
      connectionsMax: 2,
      statementTimeoutMs: 0,
      connectTimeoutS: 0.2,
      log: recordedLog().log,
    });
    const works = async () => (await sql.query("select 1").catch(() => [])).length === 1;
    const other = open();
    t.teardown(async () => {
      await Promise.all([sql.end(1), other.end(1)]);
      await proxy.close();
      silent.close();
    });
    await until("a connection is made", works);
    await other.query("select pg_advisory_lock(1)");
    const running = sql.query<{ n: number }>("select 1 as n from pg_advisory_lock(1)");
    running.catch(() => {});
    proxy.lead((silent.address() as AddressInfo).port);
    t.equal(await sql.query("select 1").catch(codeOf), "CONNECT_TIMEOUT");
    await other.query("select pg_advisory_unlock(1)");
    t.strictSame(await running, [{ n: 1 }]);
    proxy.lead(real);
    const both = async () => (await Promise.all([works(), works()])).every((made) => made);
    await until("both connections work", both);
  });

  t.test("a proxy that accepts and closes is not connected to again and again", async (t) => {
    let connections = 0;
    const closing = createServer((client) => {
      connections += 1;
      client.on("error", () => {}).end();
    }).listen(0, "127.0.0.1");
    await once(closing, "listening");
    const real = Number(new URL(database.url).port);
    const proxy = await startTcpProxy((closing.address() as AddressInfo).port);
    const url = new URL(database.url);
    url.port = String(proxy.port);
    const sql = connect({
      server: { url: url.href },
      connectionsMax: 3,
      statementTimeoutMs: 0,
      log: recordedLog().log,
    });
    t.teardown(async () => {
      await sql.end(1);
      await proxy.close();
      closing.close();
    });
    for (let round = 0; round < 100; round += 1) {
      const startedMs = performance.now();
      const statements = Array.from({ length: 10 }, () => sql.query("select 1"));
      for (const { status } of await Promise.allSettled(statements)) t.equal(status, "rejected");
      // Later would be the limit of a connection for which no caller waits.
      if (connections > 1 && round < 2) t.ok(performance.now() - startedMs < 4_000);
    }
    t.ok(connections > 0 && connections < 50, `${connections} connections`);
    proxy.lead(real);
    const all = () => Promise.all([1, 2, 3, 4].map(() => sql.query("select 1")));
    const made = () =>
      all().then(
        () => true,
        () => false,
      );
    await until("connections are made again", made);
  });

  t.test("a statement fails if all connections stay in use, and never runs", async (t) => {
    const sql = connect({
      server: { url: database.url },
      connectionsMax: 1,
      statementTimeoutMs: 0,
      turnTimeoutMs: 100,
      log: recordedLog().log,
    });
    const other = open();
    t.teardown(() => Promise.all([sql.end(1), other.end(1)]));
    await other.script("create table late (n integer)");
    await other.query("select pg_advisory_lock(2)");
    const running = sql.query("select pg_advisory_lock(2)");
    await t.rejects(sql.query("insert into late values (1)"), /all connections .* in use/);
    await other.query("select pg_advisory_unlock(2)");
    await running;
    await sql.query("insert into late values (2)");
    t.strictSame(await sql.query("select n from late"), [{ n: 2 }]);
  });

  t.test("a database that is read-only is not connected to again and again", async (t) => {
    const writable = open();
    const name = new URL(database.url).pathname.slice(1);
    await writable.script(`alter database ${name} set default_transaction_read_only = on`);
    let nowMs = 0;
    const sql = connect({
      server: { url: database.url },
      connectionsMax: 1,
      statementTimeoutMs: 0,
      log: recordedLog().log,
      nowMs: () => nowMs,
    });
    await t.rejects(sql.query("select 1"), /takes no writes/);
    await writable.script(
      `set default_transaction_read_only = off; alter database ${name} reset default_transaction_read_only`,
    );
    await t.rejects(sql.query("select 1"), /takes no writes/, "no connection is made yet");
    nowMs = 1_000;
    t.strictSame(await sql.query("select 1 as n"), [{ n: 1 }]);
    await sql.end(1);
    await writable.end(1);
  });

  t.test("a unix socket, and the parameters of a cloud's URL", async (t) => {
    const server = await startPostgresServer();
    const folder = encodeURIComponent(dirname(server.data));
    const name =
      "current_setting('application_name') as name, current_setting('search_path') as path";
    const places = [
      `@${folder}:${server.port}/postgres?`,
      `@/postgres?host=${folder}&port=${server.port}&`,
    ];
    for (const place of places) {
      const cloud =
        "sslmode=require&channel_binding=require&application_name=own&connect_timeout=9";
      const sql = open(`postgres://postgres${place}${cloud}&options=-c%20search_path%3Dx`);
      t.strictSame(await sql.query(`select ${name}`), [{ name: "tollgate", path: "x" }]);
      await sql.end(1);
    }
    await server.stop();
  });

  t.test("a fail-over", async (t) => {
    const [old, promoted] = await Promise.all([startPostgresServer(), startPostgresServer()]);
    const line = await startTcpProxy(old.port);
    const urlOf = (...ports: number[]) =>
      `postgres://postgres@${ports.map((port) => `127.0.0.1:${port}`).join()}/postgres`;
    const pools = {
      "one address": open(urlOf(line.port)),
      "two addresses": open(urlOf(old.port, promoted.port)),
    };
    t.teardown(async () => {
      await Promise.all(Object.values(pools).map((sql) => sql.end(1)));
      await Promise.all([line.close(), old.stop(), promoted.stop()]);
    });
    const port = "select current_setting('port')::integer as port";
    for (const sql of Object.values(pools))
      t.strictSame(await sql.query(port), [{ port: old.port }]);
    await old.kill();
    writeFileSync(join(old.data, "standby.signal"), "");
    await old.restart();
    const both = pools["two addresses"];
    await until("the next address is tried", () => both.query(port).then(Boolean, () => false));
    t.strictSame(await both.query(port), [{ port: promoted.port }]);
    const sql = pools["one address"];
    const fault = () => sql.query(port).then(String, String);
    await until("the standby is refused", async () => /takes no writes/.test(await fault()));
    line.lead(promoted.port);
    await until("the new primary is found", () => sql.query(port).then(Boolean, () => false));
    t.strictSame(await sql.query(port), [{ port: promoted.port }]);
  });
});
