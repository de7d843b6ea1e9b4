import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { preparePlugin } from "../../../core/boot/plugins.ts";
import { connect } from "../../../core/database/client.ts";
import { databaseOf } from "../../../core/database/migrate.ts";
import type { Plugin } from "../../../core/plugin/plugin.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres } from "../../support/postgres.ts";

t.test("a plugin's tables", async (t) => {
  const postgres = await startPostgres();
  t.teardown(() => postgres.stop());
  const { log } = recordedLog();
  const sql = connect({
    server: { url: postgres.url },
    connectionsMax: 2,
    statementTimeoutMs: 0,
    log,
  });
  t.teardown(() => sql.end(1));
  const folder = await mkdtemp(join(tmpdir(), "tollgate-migrations-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));

  /** Writes a plugin with one migration into its own folder. */
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

  t.test("are created once by the SQL beside it, and recorded under its name", async (t) => {
    const team = await plugin("team-book", "a", "create table team_members (name text);");
    await prepare(team);
    await prepare(team);
    await written("a/0002-more.sql", "insert into team_members values ('one');");
    await prepare(team);
    t.strictSame(await sql.query("select name from team_members"), [{ name: "one" }]);
    t.strictSame(await sql.query("select name from team_book_migrations order by name"), [
      { name: "0001-first.sql" },
      { name: "0002-more.sql" },
    ]);
  });

  t.test(
    "are not shared with another plugin of the same name, at the same time or later",
    async (t) => {
      const one = await plugin("stock", "one", "create table stock_items (id integer);");
      const other = await plugin("stock", "other", "create table stock_goods (id integer);");
      await prepare(one);
      await t.rejects(prepare(other, [one]), /two plugins are named stock: rename one/);
      await t.rejects(prepare(other), /0001-\S+\.sql/);
      t.strictSame(await sql.query("select to_regclass('stock_goods') as found"), [
        { found: null },
      ]);
    },
  );

  t.test("need a name of lower-case letters and hyphens", async (t) => {
    for (const name of ["", "Team", "team_book", "team2", "-team", "a; drop table accounts"]) {
      await t.rejects(prepare({ name }), /is not a valid name for a plugin: use lower-case/);
    }
  });

  t.test("need a folder that exists, with numbered files", async (t) => {
    const away = { name: "away", migrations: pathToFileURL(join(folder, "nowhere")) };
    await t.rejects(prepare(away), /the plugin away has no folder of migrations at .*nowhere/);
    await written("badly/first.sql", "create table badly (id integer);");
    const badly = { name: "badly", migrations: pathToFileURL(join(folder, "badly")) };
    await t.rejects(prepare(badly), /first\.sql: name a migration like 0001-what/);
  });
});
