import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { preparePlugin } from "../../../core/boot/prepare-plugin.ts";
import type { Plugin } from "../../../core/contract/plugin.ts";
import { connect, type Sql } from "../../../core/database/client.ts";
import { MigrationConflict } from "../../../core/database/migrate.ts";
import { databaseOf } from "../../../core/database/plugin-database.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";

describe("a plugin's tables", () => {
  let postgres: TestPostgres;
  let sql: Sql;
  let folder: string;
  before(async () => {
    postgres = await startPostgres();
    const { log } = recordedLog();
    sql = connect({ server: { url: postgres.url }, connectionsMax: 2, statementTimeoutMs: 0, log });
    folder = await mkdtemp(join(tmpdir(), "tollgate-migrations-"));
  });
  after(async () => {
    await sql.end(1);
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** A plugin with one migration in a folder of its own. */
  async function plugin(name: string, place: string, text: string): Promise<Plugin> {
    await written(join(place, "0001-first.sql"), text);
    return { name, migrations: pathToFileURL(join(folder, place)) };
  }

  async function written(file: string, text: string): Promise<void> {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }

  const prepare = (wanted: Plugin, others: Plugin[] = []) =>
    preparePlugin(wanted, others, databaseOf(sql));

  it("are made by the SQL beside it, once, and recorded by its name", async () => {
    const team = await plugin("team-book", "a", "create table team_members (name text);");
    await prepare(team);
    await prepare(team);
    await written("a/0002-more.sql", "insert into team_members values ('one');");
    await prepare(team);
    assert.deepEqual(await sql.query("select name from team_members"), [{ name: "one" }]);
    assert.deepEqual(await sql.query("select name from team_book_migrations order by name"), [
      { name: "0001-first.sql" },
      { name: "0002-more.sql" },
    ]);
  });

  it("are not shared with another plugin of the same name, side by side or later", async () => {
    const one = await plugin("stock", "one", "create table stock_items (id integer);");
    const other = await plugin("stock", "other", "create table stock_goods (id integer);");
    await prepare(one);
    await assert.rejects(prepare(other, [one]), /two plugins are named stock: rename one/);
    await assert.rejects(prepare(other), MigrationConflict);
    assert.deepEqual(await sql.query("select to_regclass('stock_goods') as found"), [
      { found: null },
    ]);
  });

  it("need a name of lower-case letters and hyphens", async () => {
    for (const name of ["", "Team", "team_book", "team2", "-team", "a; drop table accounts"]) {
      await assert.rejects(prepare({ name }), /is no name for a plugin: use lower-case/);
    }
  });

  it("need a folder that is there, with files that sort", async () => {
    const away = { name: "away", migrations: pathToFileURL(join(folder, "nowhere")) };
    await assert.rejects(prepare(away), /the plugin away has no folder of migrations at .*nowhere/);
    await written("badly/first.sql", "create table badly (id integer);");
    const badly = { name: "badly", migrations: pathToFileURL(join(folder, "badly")) };
    await assert.rejects(prepare(badly), /first\.sql: name a migration like 0001-what/);
  });
});
