import assert from "node:assert/strict";
import t from "tap";
import { connect } from "../../../core/database/client.ts";
import { admin } from "../../support/admin.ts";
import { startGateway } from "../../support/gateway.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres } from "../../support/postgres.ts";
import { startRedisServer } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { runCli } from "../admin/cli-runs.ts";

type Row = Record<string, unknown>;

t.test(
  "a server that serves by another config than the others is reported after five minutes",
  async (t) => {
    const postgres = await startPostgres();
    const redis = await startRedisServer();
    const stores = { ledger: postgres.url, hot: redis.url };
    const options = {
      server: { url: postgres.url },
      connectionsMax: 1,
      statementTimeoutMs: 30_000,
    };
    const sql = connect({ ...options, log: recordedLog().log });
    const [first, other] = await Promise.all([
      startGateway({ config: { stores } }),
      startGateway({ config: { stores, headers: { prefix: "x-other-" } } }),
    ]);
    const list = async () => (await admin(first, "GET", "/servers")).body["list"] as Row[];
    const env = { GATEWAY_URL: first.url, GATEWAY_ADMIN_TOKEN: first.adminToken };
    const differing = (rows: Row[]) =>
      rows.map(({ address, differs, is_late }) => [address, differs, is_late]);
    const addressOf = ({ port }: { readonly port: number }) => `127.0.0.1:${port}`;

    await until("both have met", async () => (await list()).length === 2);
    t.strictSame(
      differing(await list()),
      [
        [addressOf(first), [], false],
        [addressOf(other), ["config"], false],
      ],
      "a rolling reload is no news",
    );
    const { code } = await runCli(["doctor"], { env });
    assert.equal(code, 0);

    const { body: system } = await admin(first, "GET", "/system");
    t.match(system, {
      process: { node: process.version, disk_free_mb: Number, uncommitted_calls: 0 },
      config: {
        ledger: new URL(postgres.url).host,
        plugins: /servers/,
        "limits.callsMax": /^\d+$/,
      },
    });
    t.notMatch(JSON.stringify(system), first.adminToken);
    t.notMatch(JSON.stringify(system), /:\/\/[^"]*@/);

    t.match((await admin(first, "GET", "/upgrade")).body, { works: true, state: /\(2\)/ });
    const secrets = await admin(first, "GET", "/secrets");
    const named = (secrets.body["list"] as Row[]).find(({ secret }) => secret === "admin.token");
    t.match(named, { from: "the config file", takes_effect: "reload" });
    t.notMatch(JSON.stringify(secrets.body), first.adminToken);
    const one = await runCli(["secrets", "--secret", "nothing"], { env });
    t.match([one.code, one.stderr], [1, /No secret has this name/]);
    // A later build migrates: with this one, no process would start again.
    await sql.query("insert into migrations (name, checksum) values ('9999-later.sql', 'x')");
    t.match((await admin(first, "GET", "/upgrade")).body, {
      works: false,
      state: /works with no earlier version/,
      back_works: /9999-later/,
    });
    await sql.query(
      "update migrations set works_with = '0003-usage' where name = '9999-later.sql'",
    );
    t.match((await admin(first, "GET", "/upgrade")).body, {
      works: true,
      back_works: /end with 0003-usage/,
    });
    await sql.query("update servers set schema_problem = 'it lacks a file'");
    const stuck = await runCli(["doctor"], { env });
    t.match(stuck.stdout, /would not start again with its build/);
    await sql.query("update servers set schema_problem = null");
    await sql.query("delete from migrations where name = '9999-later.sql'");

    t.strictSame((await admin(first, "GET", "/backups")).body["list"], []);
    await sql.query(
      "insert into backups (at, bytes) values (now() - interval '1 day', 7), (now() - interval '2 hours', 8), (now() - interval '500 days', 9)",
    );
    const backups = JSON.parse((await runCli(["backups", "--json"], { env })).stdout);
    t.match(backups, [
      { bytes: 8, is_old: false },
      { bytes: 7, is_old: true },
      { bytes: 9, is_old: true },
    ]);
    t.match(Math.round(backups[0].age_seconds / 60), 120);

    await sql.query("update servers set since = since - interval '6 minutes'");
    await until("it is in the log and in the metrics", async () => {
      const metrics = await (await fetch(`${first.url}/metrics`)).text();
      const age = Number(/^tollgate_backup_age_seconds(?:\{[^}]*\})? (\S+)$/m.exec(metrics)?.[1]);
      if (!(age >= 7_200 && age < 7_900)) return false;
      const isTold = /^tollgate_servers_that_differ(?:\{[^}]*\})? 1$/m.test(metrics);
      return isTold && first.logs.includes("serves by another version");
    });
    const left = (await admin(first, "GET", "/backups")).body["list"] as Row[];
    t.equal(left.length, 2, "one is forgotten after 400 days");
    const doctor = await runCli(["doctor"], { env });
    t.equal(doctor.code, 1);
    t.match(doctor.stdout, /servers do not agree/);

    await other.stop();
    await until("it has left", async () => (await list()).length === 1);
    await sql.end(1);
    for (const gateway of [first, other]) await gateway.close();
    await redis.stop();
    await postgres.stop();
  },
);
