import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../core/root.ts";
import { migrationsHash } from "./migrations.ts";

/**
 * Gives a new gateway an embedded database as its first start would make it: initialised, with all tables and
 * nothing in them. What takes that start some seconds of processor time is a copy of half a second; what it does by
 * itself has tests of its own.
 */
export function copyEmptyLedger(data: string): void {
  const target = join(data, "ledger", "postgres");
  if (existsSync(target)) return;
  mkdirSync(join(data, "ledger"), { recursive: true, mode: 0o700 });
  cpSync(template(), target, { recursive: true });
}

function template(): string {
  const modules = join(packageRoot, "node_modules");
  const manifest = readFileSync(join(modules, "@electric-sql", "pglite", "package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const name = `pglite-${version}-${migrationsHash()}`;
  const folder = join(modules, ".cache", "tollgate", name);
  if (!existsSync(folder)) make(folder);
  return folder;
}

function make(folder: string): void {
  mkdirSync(join(folder, ".."), { recursive: true });
  // Test files run side by side: the first that has made one wins.
  const mine = `${folder}.${process.pid}`;
  const program = join(packageRoot, "dist", "test", "support", "make-ledger-template.js");
  execFileSync(process.execPath, [program, mine]);
  try {
    renameSync(mine, folder);
  } catch {
    rmSync(mine, { recursive: true, force: true });
  }
}
