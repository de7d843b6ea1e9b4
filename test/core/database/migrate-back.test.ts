import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import client from "postgres";
import t from "tap";
import { connect, type Sql } from "../../../core/database/client.ts";
import { databaseOf, migrate } from "../../../core/database/migrate.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres } from "../../support/postgres.ts";

const FIRST = "create table things (id integer);";
const SECOND = "create table more_things (id integer);";
const WORKS_WITH_FIRST = "-- works with: 0001-first\nalter table things add column size integer;";
const WORKS_WITH_SECOND = "-- works with: 0002-second\nalter table things add column at integer;";

t.test("a build that starts after a later one has migrated the database", async (t) => {
  const server = await startPostgres();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-migrations-"));
  const sql = open(server.url);
  t.teardown(async () => {
    await sql.end(1);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  t.beforeEach(async () => {
    await sql.script("drop schema public cascade; create schema public;");
  });
  let builds = 0;
  /** A folder of migrations, numbered as they come: `{ first: "create …" }`. */
  const build = (files: Readonly<Record<string, string>>) => {
    builds += 1;
    const place = join(folder, `build-${builds}`);
    mkdirSync(place);
    for (const [at, [name, text]] of Object.entries(files).entries()) {
      writeFileSync(join(place, `000${at + 1}-${name}.sql`), text);
    }
    return place;
  };
  const refused = (place: string, message: RegExp) => assert.rejects(migrate(sql, place), message);

  t.test("starts if each later migration works with it, and applies nothing", async (t) => {
    const older = build({ first: FIRST });
    const newer = build({ first: FIRST, second: WORKS_WITH_FIRST });
    await migrate(sql, older);
    t.strictSame(await migrate(sql, newer), ["0002-second.sql"]);
    t.strictSame(await migrate(sql, older), []);
    t.strictSame(await migrate(sql, newer), []);
  });

  t.test("is refused if a later migration does not say that it works with it", async () => {
    await migrate(sql, build({ first: FIRST, second: SECOND }));
    await refused(build({ first: FIRST }), /has applied 0002-second\.sql.*no earlier version/);
    // One that does not say so is enough.
    const later = build({ first: FIRST, second: SECOND, third: WORKS_WITH_SECOND });
    await migrate(sql, later);
    await refused(build({ first: FIRST }), /0002-second\.sql.*no earlier version/);
  });

  t.test(
    "is refused if it is older than the oldest that a later migration works with",
    async (t) => {
      const files = { first: FIRST, second: WORKS_WITH_FIRST, third: WORKS_WITH_SECOND };
      await migrate(sql, build(files));
      t.strictSame(await migrate(sql, build({ first: FIRST, second: WORKS_WITH_FIRST })), []);
      await refused(build({ first: FIRST }), /0003-third\.sql.*0002-second or later.*0001-first/);
    },
  );

  t.test("is refused if its own files are not those that were applied", async () => {
    await migrate(sql, build({ first: FIRST, second: WORKS_WITH_FIRST }));
    await refused(build({ first: SECOND }), /0001-first\.sql has changed/);
    await refused(build({ other: FIRST }), /0001-other\.sql in its place/);
  });

  t.test("is held to the same for the tables of plugins", async (t) => {
    const database = databaseOf(sql);
    const start = (place: string) => database.migrate("team-book", pathToFileURL(place));
    const older = build({ first: FIRST });
    await start(build({ first: FIRST, second: WORKS_WITH_FIRST }));
    await start(older);
    await start(build({ first: FIRST, second: WORKS_WITH_FIRST, third: SECOND }));
    await t.rejects(start(older), /has applied 0003-third.sql of a later version/);
  });

  t.test("does not wait for a backup, which reads all tables", async (t) => {
    const place = build({ first: FIRST });
    await migrate(sql, place);
    const backup = client(server.url, { max: 1 });
    try {
      await backup.begin(async (transaction) => {
        await transaction`lock table migrations in access share mode`;
        t.strictSame(await migrate(sql, place), []);
      });
    } finally {
      await backup.end();
    }
  });

  t.test("cannot be named by a migration that is not after it", async (t) => {
    for (const name of ["0002-second", "0003-third", "0001-frist"]) {
      const place = build({ first: FIRST, second: `-- works with: ${name}\n${SECOND}`, third: "" });
      await t.rejects(
        migrate(sql, place),
        /0002-second\.sql: `works with` must name a file before/,
      );
    }
  });
});

function open(url: string): Sql {
  return connect({
    server: { url },
    connectionsMax: 2,
    statementTimeoutMs: 5_000,
    log: recordedLog().log,
  });
}
