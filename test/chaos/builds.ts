import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { packageRoot } from "../../core/process/root.ts";
import { messageOf } from "../../core/process/thrown.ts";
import { startGateway } from "../support/gateway.ts";
import { type Build, makeNextVersion } from "../support/next-version.ts";
import { Watchdog } from "../support/watchdog.ts";

/** Two versions of the gateway that share the stores of a run. */
export interface Builds {
  readonly older: Build;
  readonly newer: Build;
  /** As the report names them. */
  readonly names: string;
  /** True if the next version was made for this run, so that the older one starts again. */
  readonly hasWayBack: boolean;
}

const PROGRAM = join("dist", "core", "main.js");
const THIS: Build = { root: packageRoot, remove: async () => {} };

/** This version, and the next one, made out of it. */
export function thisAndNext(): Builds {
  const names = "this one, and the next made from it";
  return { older: THIS, newer: makeNextVersion(), names, hasWayBack: true };
}

/** An earlier version and this one. `given`: a folder with its built checkout, or a commit. */
export function olderAndThis(given: string): Builds {
  const names = `${given}, and this one`;
  const shared = { newer: THIS, names, hasWayBack: false };
  if (!existsSync(given)) return { older: buildCommit(given), ...shared };
  const root = resolve(given);
  if (!existsSync(join(root, PROGRAM)))
    throw new Error(`--older: ${root} is not built: run npx tsc`);
  return { older: { root, remove: async () => {} }, ...shared };
}

/** Builds a commit of this repository in a folder of its own, with the packages of this checkout. */
function buildCommit(commit: string): Build {
  const root = mkdtempSync(join(tmpdir(), "tollgate-older-"));
  const watchdog = new Watchdog(root);
  try {
    const archive = execFileSync("git", ["-C", packageRoot, "archive", commit], {
      maxBuffer: 1 << 30,
      stdio: "pipe",
    });
    execFileSync("tar", ["-x", "-C", root], { input: archive });
    symlinkSync(join(packageRoot, "node_modules"), join(root, "node_modules"));
    execFileSync(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc")], {
      cwd: root,
    });
    return { root, remove: () => watchdog.stop() };
  } catch (error) {
    void watchdog.stop();
    throw new Error(
      `--older: ${commit} must be a folder or a commit that builds: ${messageOf(error)}`,
    );
  }
}

/**
 * Starts the newer version on an empty database, then the older one. Returns why the older one does
 * not start; undefined if it does.
 */
export async function noWayBack(
  { older, newer }: Pick<Builds, "older" | "newer">,
  ledger: string,
): Promise<string | undefined> {
  const gateway = await startGateway({
    root: newer.root,
    config: { stores: { hot: "embedded", ledger } },
  });
  try {
    await gateway.stop();
    gateway.runFrom(older.root);
    const { length } = gateway.logs;
    try {
      await gateway.start();
      return undefined;
    } catch {
      const lines = gateway.logs.slice(length).trim().split("\n");
      return lines.at(-1);
    }
  } finally {
    await gateway.close();
  }
}
