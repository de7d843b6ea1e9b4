import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { objectOf } from "./json.ts";

/** The package folder, with a trailing slash. Code runs from `dist/core/process/`; SQL is read from the sources. */
export const packageRoot: string = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * Options of commands that npm has too: an operator's .npmrc may set them. `email` was one of npm's. Not `dry-run`: a command
 * would do what was only to be tried.
 */
const OF_NPM = new Set("before call email json key message name yes".split(" "));

const isDependency = /[/\\]node_modules[/\\]/.test(packageRoot);

/** Returns one word of a command line. */
function quoted(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

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
  /**
   * Returns what is wrong if npm has kept some of these options, as it does with `npm start --check`: without a `--` before
   * them it takes them for its own, and the program would run as if they were not given. `given` are the words that it
   * passed on.
   */
  keptByNpm(
    options: readonly string[],
    given: readonly string[],
    env: Readonly<Record<string, string | undefined>>,
  ): string | undefined {
    const script = env["npm_lifecycle_event"];
    if (script !== "start" && script !== "admin") return undefined;
    const stated = (name: string) => env[`npm_config_${name.replaceAll("-", "_")}`];
    const kept = options.flatMap((name) => {
      // npm takes `--no-mail` for a `mail` that is off.
      if (name.startsWith("no-") && stated(name.slice(3)) === "") return `--${name}`;
      const value = stated(name);
      if (!value || OF_NPM.has(name)) return [];
      return value === "true" || name === "token" ? `--${name}` : `--${name}=${quoted(value)}`;
    });
    if (kept.length === 0) return undefined;
    const line =
      script === "start" ? ["start --", ...kept, ...given] : ["run admin --", ...given, ...kept];
    return `npm has kept ${kept.join(" ")} for itself; write: npm ${line.join(" ")}`;
  },
};
