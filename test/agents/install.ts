import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { objectOf, parseJson } from "../../core/process/json.ts";
import { packageRoot } from "../../core/process/root.ts";
import type { Client } from "./client.ts";
import { runProgram } from "./run-program.ts";

const INSTALL_TIMEOUT_MS = 900_000;
const DONE = "installed";

/**
 * Installs a client's packages with npm below `folder`, unless they are there. Returns their folder,
 * or why they cannot be installed.
 */
export async function install(
  { packages }: Client,
  folder: string,
  node: string,
): Promise<
  { readonly installed: string; readonly versions: string } | { readonly failure: string }
> {
  const id = createHash("sha256").update(packages.join()).digest("hex").slice(0, 12);
  const installed = join(folder, id);
  mkdirSync(installed, { recursive: true });
  if (!existsSync(join(installed, DONE))) {
    writeFileSync(join(installed, "package.json"), JSON.stringify({ private: true }));
    const { code, output } = await runProgram({
      file: "npm",
      args: ["install", "--no-audit", "--no-fund", "--loglevel=error", ...packages],
      folder: installed,
      env: { PATH: `${join(node, "..")}:${process.env["PATH"]}` },
      timeoutMs: INSTALL_TIMEOUT_MS,
    });
    if (code !== 0) return { failure: `npm install: ${output.trim().slice(-300)}` };
    writeFileSync(join(installed, DONE), "");
  }
  cpSync(join(packageRoot, "test", "agents", "programs"), join(installed, "programs"), {
    recursive: true,
  });
  return { installed, versions: packages.map((name) => versionOf(name, installed)).join(", ") };
}

function versionOf(wanted: string, installed: string): string {
  const name = wanted.replace(/(?<=.)@[\d.]+$/, "");
  const file = join(installed, "node_modules", name, "package.json");
  const manifest = existsSync(file) ? parseJson(readFileSync(file, "utf8")) : undefined;
  return `${name} ${String(objectOf(manifest)?.["version"])}`;
}
