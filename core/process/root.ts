import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { objectOf } from "./json.ts";

/** The package folder, with a trailing slash. Code runs from `dist/core/process/`; SQL is read from the sources. */
export const packageRoot: string = fileURLToPath(new URL("../../../", import.meta.url));

const isDependency = /[/\\]node_modules[/\\]/.test(packageRoot);

/** This program, for people. */
export const program = {
  /** The command that starts it from where it is installed: its own folder, or the `node_modules` of another. */
  start: isDependency ? "npx tollgate" : "npm start",
  /** The words before those of an operator's command there. */
  admin: isDependency ? "npx tollgate-admin" : "npm run admin --",
  /** Such as `1.0.0`. */
  get version(): string {
    const manifest: unknown = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8"));
    return String(objectOf(manifest)?.["version"]);
  },
};
