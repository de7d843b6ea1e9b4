import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../root.ts";
import type { Sql } from "./client.ts";

const FOLDER = join(packageRoot, "core/ledger/migrations");
/** Any number does, as long as nothing else in the database locks it. */
const LOCK = 7_305_301;

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

/** The database was migrated by other files than these; the message says which. */
export class MigrationConflict extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MigrationConflict";
  }
}

/**
 * Applies the migrations that the database does not have yet, all in one transaction under an advisory
 * lock, so that any number of processes may start at once. Answers the names that it applied. Throws
 * MigrationConflict where an applied file has changed or is missing here: the list only grows.
 */
export async function migrate(sql: Sql, folder: string = FOLDER): Promise<string[]> {
  const migrations = await readMigrations(folder);
  return sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK})`;
    await tx`
      create table if not exists migrations (
        name text primary key,
        checksum text not null,
        applied_at timestamptz not null default now()
      )`;
    const applied = await tx<{ name: string; checksum: string }[]>`
      select name, checksum from migrations order by name`;
    const fresh = unapplied(migrations, applied);
    for (const migration of fresh) {
      await tx.unsafe(migration.text);
      await tx`
        insert into migrations (name, checksum) values (${migration.name}, ${migration.checksum})`;
    }
    return fresh.map((migration) => migration.name);
  });
}

function unapplied(
  migrations: readonly Migration[],
  applied: readonly { name: string; checksum: string }[],
): readonly Migration[] {
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
  return migrations.slice(applied.length);
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}-.+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), "utf8");
      return { name, text, checksum: createHash("sha256").update(text).digest("hex") };
    }),
  );
}
