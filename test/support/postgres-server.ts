import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { databaseUser } from "../../core/database/embedded-folder.ts";
import {
  ended,
  endOfOutput,
  type PostgresBuild,
  packagedBuild,
  runProgram,
} from "../../core/database/postgres-build.ts";
import { foundOrInstalled } from "./debian-package.ts";
import { freePort } from "./free-port.ts";
import { Watchdog } from "./watchdog.ts";

const READY_TIMEOUT_MS = 300_000;

/** A server for one owner, which may kill or freeze it. */
export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  /** The folder of its programs, `pg_dump` among them. */
  readonly binaries: string;
  /** Sends a signal to all processes of the server. */
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGKILL and waits until the server has ended. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port. */
  restart(): Promise<void>;
  /** Its data folder, which may be copied while it is frozen, and replaced while it is down. */
  readonly data: string;
  stop(): Promise<void>;
}

interface ServerOptions {
  /** As `name=value`. */
  readonly settings?: readonly string[];
  /** Default: the build of the embedded ledger. */
  readonly build?: PostgresBuild;
}

/** Starts a server on a free port. It ends and its folder is deleted even if its owner is killed. */
export async function startPostgresServer({
  settings = [],
  build: given,
}: ServerOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-postgres-"));
  const watchdog = new Watchdog(folder);
  const build = given ?? packagedBuild(join(folder, "lib"));
  const user = databaseUser(folder);
  const data = join(folder, "data");
  const files = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await ended(runProgram(build, "initdb", ["-D", data, ...files], { user }));
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const args = ["-D", data, "-p", String(port), "-k", folder, "-c", "listen_addresses=127.0.0.1"];
  args.push(...settings.flatMap((one) => ["-c", one]));
  const start = async () => {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    for (;;) {
      const server = runProgram(build, "postgres", args, { user });
      const output = endOfOutput(server);
      watchdog.guard(server);
      try {
        await answering(url, server, output, deadline);
        return server;
      } catch (error) {
        if (!WORKERS_REMAIN.test(output.text) || performance.now() > deadline) throw error;
      }
    }
  };
  let server = await start();
  const isGone = () => server.exitCode !== null || server.signalCode !== null;
  const end = async (signal: NodeJS.Signals) => {
    if (isGone()) return;
    const gone = once(server, "exit");
    server.kill(signal);
    await gone;
  };
  const signalAll = (signal: NodeJS.Signals) => {
    if (isGone() || server.pid === undefined) return;
    const send = (pid: number) => {
      try {
        process.kill(pid, signal);
      } catch {
        // The process has ended since.
      }
    };
    // First the one that forks the others.
    const before = childrenOf(server.pid);
    send(server.pid);
    for (const pid of new Set([...before, ...childrenOf(server.pid)])) send(pid);
  };
  return {
    url,
    port,
    binaries: build.bin,
    signal: signalAll,
    async kill() {
      const gone = isGone() ? undefined : once(server, "exit");
      signalAll("SIGKILL");
      await gone;
    },
    async restart() {
      server = await start();
    },
    data,
    async stop() {
      await end("SIGQUIT");
      await watchdog.stop();
    },
  };
}

/** On a busy machine, workers of a server that was killed end after it. */
const WORKERS_REMAIN = /pre-existing shared memory block/;

async function answering(
  url: string,
  server: ChildProcess,
  output: { readonly text: string },
  deadline: number,
): Promise<void> {
  while (!(await answers(url))) {
    if (server.exitCode !== null || performance.now() > deadline) {
      server.kill("SIGKILL");
      throw new Error(`postgres did not start:\n${output.text}`);
    }
    await delay(50);
  }
}

/** The server's workers have their own process groups. */
function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return children.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

async function answers(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 1 });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/**
 * Returns the newest Postgres of this machine with all its programs, which the embedded build lacks; else the one that
 * apt installs. `major` asks for one version of several.
 */
export async function installedPostgres(major?: number): Promise<PostgresBuild> {
  const find = () => installedPrograms(major);
  const bin = await foundOrInstalled(find, `postgresql${major ? `-${major}` : ""}`, ADVICE);
  return { bin, libraries: "", major: String(major ?? "") };
}

const ADVICE =
  "The test needs pg_dump and a server of the same version. " +
  "Debian: apt install postgresql; macOS: brew install postgresql.";

function installedPrograms(major?: number): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const folders = versions
    .filter((name) => !major || Number(name) === major)
    .sort((a, b) => Number(b) - Number(a))
    .map((name) => join(debian, name, "bin"));
  if (!major) folders.push(...(process.env["PATH"] ?? "").split(delimiter));
  const programs = ["postgres", "initdb", "pg_dump"];
  return folders.find((folder) => programs.every((each) => existsSync(join(folder, each))));
}
