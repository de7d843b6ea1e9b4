import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { packageRoot } from "../../core/process/root.ts";

/** An operator's folder outside of the repository. */
export class OutsideFolder {
  readonly path = mkdtempSync(join(tmpdir(), "tollgate-outside-"));

  write(name: string, text: string): string {
    const file = join(this.path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** The code block in this language of the plugins' README that contains a text. */
export function readmeBlock(language: string, holds: string): string {
  const readme = readFileSync(join(packageRoot, "plugins", "README.md"), "utf8");
  const blocks = readme.matchAll(/^```(\w+)\n(.*?)^```$/gms);
  for (const [, name, text = ""] of blocks) {
    if (name === language && text.includes(holds)) return text;
  }
  assert.fail(`plugins/README.md has no ${language} with ${holds}`);
}

export const TEAM = readmeBlock("js", "// team.js");
export const VENDOR = readmeBlock("js", "// vendor.js");
export const TSCONFIG = readmeBlock("json", "tollgate/plugin").replace(
  "/opt/tollgate/",
  () => packageRoot,
);
export const MODULE = `{ "type": "module" }`;

/** The README's plugin `team` in TypeScript. */
export function typedTeam(): string {
  let text = TEAM;
  for (const [from, to] of [
    ["import { refuse, v }", "import { type Plugin, refuse, type Services, v }"],
    [
      "team(services, { header })",
      "team(services: Services, { header }: v.InferOutput<typeof options>): Plugin",
    ],
    ["new Map()", "new Map<string, number>()"],
  ] as const) {
    assert.ok(text.includes(from), from);
    text = text.replace(from, () => to);
  }
  return text;
}

/** The compiler's output for a folder's tsconfig.json; empty if it compiles. */
export async function compile(folder: string): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
  const tsc = join(dirname(manifest), "bin", "tsc");
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, "-p", folder]);
    return stdout;
  } catch (error) {
    if (error instanceof Error && "stdout" in error) return String(error.stdout);
    throw error;
  }
}
