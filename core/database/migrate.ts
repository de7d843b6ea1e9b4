import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../process/root.ts";
import { type Sql, sqlState } from "./client.ts";

const FOLDER = join(packageRoot, "core/money/ledger/migrations");
/**
 * The key of the lock: any number that nothing else in the database locks. Held until the script's
 * transaction ends.
 */
const LOCK = "select pg_advisory_xact_lock(7305301);";
const UNIQUE_VIOLATION = "23505";

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

interface Applied {
  readonly name: string;
  readonly checksum: string;
}

/** The database was migrated by other files than these. The message says which. */
export class MigrationConflict extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MigrationConflict";
  }
}

/**
 * Applies the migrations that the database does not have, each in a transaction with its own record
 * in `table`: one table for the ledger, and one for each plugin with tables. Returns the names that
 * it applied. Throws MigrationConflict if an applied file has changed or is missing: the list only
 * grows.
 *
 * Many processes may start at the same time. They take turns, and one that finds the next migration
 * recorded continues with the one after it.
 */
export async function migrate(
  sql: Sql,
  folder: string = FOLDER,
  table = "migrations",
): Promise<string[]> {
  const migrations = await readMigrations(folder);
  // Waits as long as the migration of another process takes. The start logs that it waits.
  await sql.script(
    `${LOCK}
    create table if not exists ${table} (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`,
    { isLong: true },
  );
  const done: string[] = [];
  for (;;) {
    const applied = await sql.query<Applied>(`select name, checksum from ${table} order by name`);
    const next = nextMigration(migrations, applied);
    if (next === undefined) return done;
    if (await apply(sql, next, table)) done.push(next.name);
  }
}

/** Returns false if another process applied it first. */
async function apply(sql: Sql, migration: Migration, table: string): Promise<boolean> {
  const { name, checksum, text } = migration;
  try {
    // A change of a large table may take longer than any other statement.
    const script = `${LOCK}
      insert into ${table} (name, checksum) values ('${name}', '${checksum}');
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
  for (const [index, { name, checksum }] of applied.entries()) {
    const migration = migrations[index];
    if (migration?.name !== name) {
      throw new MigrationConflict(
        `the database has applied ${name}, and this version of the gateway has ` +
          `${migration?.name ?? "nothing"} in its place: run the version that migrated it, or a later one`,
      );
    }
    if (migration.checksum !== checksum) {
      throw new MigrationConflict(
        `${name} has changed since it was applied: restore it, and put the change in a new file`,
      );
    }
  }
  return migrations[applied.length];
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  const misnamed = names.find((name) => !/^\d{4}-[\w-]+\.sql$/.test(name));
  if (misnamed !== undefined) {
    throw new Error(`${join(folder, misnamed)}: name a migration like 0001-what-it-does.sql`);
  }
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), "utf8");
      return { name, text, checksum: createHash("sha256").update(text).digest("hex") };
    }),
  );
}
