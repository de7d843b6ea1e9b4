import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../process/root.ts";
import { messageOf } from "../process/thrown.ts";
import { type Sql, sqlState } from "./client.ts";
import type { Database } from "./database.ts";

const FOLDER = join(packageRoot, "core/database/migrations");
/** Any number that nothing else in the database locks. Held until the transaction of the script ends. */
const LOCK = "select pg_advisory_xact_lock(7305301);";
const UNIQUE_VIOLATION = "23505";

/** The first line of a migration after which earlier builds still work: the last file of the oldest of them. */
const WORKS_WITH = /^-- works with: (\S+)/;

/** How the tables of one owner stand to this build. Builds are named by their last file, without `.sql`. */
export interface SchemaState {
  /** `core`, or what made the tables: a plugin. */
  readonly owner: string;
  readonly build: string;
  /** The last file that the database has applied. */
  readonly database: string;
  /** The oldest build that starts on this database. */
  readonly oldest: string;
  /** Why this build would not start again; undefined if it would. */
  readonly problem: string | undefined;
}

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
  /** Undefined if no earlier build works after it. */
  readonly worksWith: string | undefined;
}

interface Applied {
  readonly name: string;
  readonly checksum: string;
  readonly works_with: string | null;
}

/**
 * Applies the migrations that the database does not have, each in a transaction with its own record in `table`: one
 * table for the ledger, and one for each plugin with tables. Returns the names that it applied. Throws if an applied file
 * has changed or is missing: the list only grows. Files that a later build has applied may follow, if each of them works
 * with this build: see the README in `core/database/migrations`.
 *
 * Many processes may start at the same time. They take turns, and one that finds the next migration recorded continues
 * with the one after it.
 */
export async function migrate(
  sql: Sql,
  folder: string = FOLDER,
  table = "migrations",
): Promise<string[]> {
  const migrations = await readMigrations(folder);
  // Waits as long as the migration of another process takes. The start logs that it waits.
  const record = `${LOCK}
    create table if not exists ${table} (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now(),
      works_with text
    )`;
  await sql.script(record, { isLong: true });
  const done: string[] = [];
  for (;;) {
    const applied = await readApplied(sql, table);
    const next = nextMigration(migrations, applied);
    if (next === undefined) return done;
    if (await apply(sql, next, table)) done.push(next.name);
  }
}

function readApplied(sql: Pick<Sql, "query">, table: string): Promise<Applied[]> {
  return sql.query<Applied>(`select name, checksum, works_with from ${table} order by name`);
}

/** Returns how tables stand that this process has migrated: another build may have migrated them since. */
async function schemaState(sql: Sql, owner: string, { folder, table }: Tables) {
  const [migrations, applied] = [await readMigrations(folder), await readApplied(sql, table)];
  let problem: string | undefined;
  try {
    nextMigration(migrations, applied);
  } catch (error) {
    problem = messageOf(error);
  }
  return {
    owner,
    build: levelOf(migrations.at(-1)?.name ?? ""),
    database: levelOf(applied.at(-1)?.name ?? ""),
    oldest: oldestOf(applied),
    problem,
  };
}

/** Returns the first build such that each later migration works with it. */
function oldestOf(applied: readonly Applied[]): string {
  let oldest = levelOf(applied.at(-1)?.name ?? "");
  let worksWith = "";
  for (const [index, later] of [...applied.entries()].reverse()) {
    const before = applied[index - 1];
    if (before === undefined || later.works_with === null) break;
    if (later.works_with > worksWith) worksWith = later.works_with;
    if (worksWith > levelOf(before.name)) break;
    oldest = levelOf(before.name);
  }
  return oldest;
}

/** Returns false if another process applied it first. */
async function apply(sql: Sql, migration: Migration, table: string): Promise<boolean> {
  const { name, checksum, text, worksWith } = migration;
  const level = worksWith === undefined ? "null" : `'${worksWith}'`;
  try {
    // A change of a large table may take longer than any other statement.
    const script = `${LOCK}
      insert into ${table} (name, checksum, works_with) values ('${name}', '${checksum}', ${level});
      ${text}`;
    await sql.script(script, { isLong: true });
    return true;
  } catch (error) {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    const applied = await sql.query(`select from ${table} where name = $1`, [name]);
    if (applied.length === 0) throw error;
    return false;
  }
}

function nextMigration(
  migrations: readonly Migration[],
  applied: readonly Applied[],
): Migration | undefined {
  for (const [index, { name, checksum }] of applied.slice(0, migrations.length).entries()) {
    const migration = migrations[index];
    if (migration?.name !== name) {
      throw new Error(
        `the database has applied ${name}, and this version of the gateway has ` +
          `${migration?.name ?? "nothing"} in its place: run the version that migrated it, or a later one`,
      );
    }
    if (migration.checksum !== checksum) {
      throw new Error(
        `${name} has changed since it was applied: restore it, and put the change in a new file`,
      );
    }
  }
  const last = migrations.at(-1);
  for (const later of applied.slice(migrations.length)) checkLater(later, last?.name ?? "");
  return migrations[applied.length];
}

/** Throws if the build whose last file is `last` does not work after a migration of a later build. */
function checkLater({ name, works_with: worksWith }: Applied, last: string): void {
  if (worksWith !== null && worksWith <= levelOf(last)) return;
  const works =
    worksWith === null ? "no earlier version" : `versions that have ${worksWith} or later`;
  throw new Error(
    `the database has applied ${name} of a later version of the gateway, which works with ${works}` +
      `${last && `; this one ends with ${levelOf(last)}`}: run the version that migrated it, or a later one. ` +
      "To go back to this version, restore a backup from before that migration",
  );
}

/** A build is named by its last file, without the extension. */
function levelOf(file: string): string {
  return file.replace(/\.sql$/, "");
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  const misnamed = names.find((name) => !/^\d{4}-[\w-]+\.sql$/.test(name));
  if (misnamed !== undefined) {
    throw new Error(`${join(folder, misnamed)}: name a migration like 0001-what-it-does.sql`);
  }
  return Promise.all(
    names.map(async (name, index) => {
      const text = await readFile(join(folder, name), "utf8");
      const worksWith = WORKS_WITH.exec(text)?.[1];
      if (worksWith !== undefined && !names.slice(0, index).includes(`${worksWith}.sql`)) {
        throw new Error(
          `${join(folder, name)}: \`works with\` must name a file before it, without .sql: ${worksWith}`,
        );
      }
      const checksum = createHash("sha256").update(text).digest("hex");
      return { name, text, checksum, worksWith };
    }),
  );
}

/** The database for plugins, with `migrate` for core alone. */
export interface PluginDatabase extends Database {
  /**
   * Applies the new migrations of a plugin, under a lock, so that many processes may start at once. Records them under
   * the plugin's name. Throws if another plugin of this name was there before.
   */
  migrate(plugin: string, folder: URL): Promise<void>;
  /** Returns how the tables of core, and those that were migrated here, stand to this build. */
  schema(): Promise<SchemaState[]>;
}

interface Tables {
  readonly folder: string;
  readonly table: string;
}

export function databaseOf(sql: Sql): PluginDatabase {
  const migrated = new Map<string, Tables>([["core", { folder: FOLDER, table: "migrations" }]]);
  return {
    query: (text, parameters) => sql.query(text, parameters),
    migrate: async (plugin, url) => {
      const folder = fileURLToPath(url);
      const found = await stat(folder).catch(() => undefined);
      if (!found?.isDirectory()) {
        throw new Error(`the plugin ${plugin} has no folder of migrations at ${folder}`);
      }
      // Two plugins cannot share this table: a plugin's name has no underscore.
      const table = `${plugin.replaceAll("-", "_")}_migrations`;
      await migrate(sql, folder, table);
      migrated.set(plugin, { folder, table });
    },
    schema: () =>
      Promise.all(Array.from(migrated, ([owner, tables]) => schemaState(sql, owner, tables))),
  };
}
