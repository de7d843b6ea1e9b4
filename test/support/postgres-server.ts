import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { foundOrInstalled } from "./debian-package.ts";
import { freePort } from "./free-port.ts";
import { Watchdog } from "./watchdog.ts";

const READY_TIMEOUT_MS = 300_000;
const ADVICE =
  "The tests need Postgres: set DATABASE_URL to a server where a database may be created, " +
  "or install it (Debian: apt install postgresql; macOS: brew install postgresql).";

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

/**
 * Starts a server on a free port, from the machine's binaries, else from those that apt installs.
 * The server ends and its folder is deleted even if its owner is killed.
 */
export async function startPostgresServer(connectionsMax = 100): Promise<PostgresServer> {
  return startServer(await foundOrInstalled(findBinaries, "postgresql", ADVICE), connectionsMax);
}

async function startServer(binaries: string, connectionsMax: number): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-postgres-"));
  const user = serverUser();
  if (user) {
    chownSync(folder, user.uid, user.gid);
    chmodSync(folder, 0o700);
  }
  const data = join(folder, "data");
  execFileSync(
    join(binaries, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    { stdio: "pipe", cwd: folder, ...user },
  );
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const watchdog = new Watchdog(folder);
  const start = async () => {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    for (;;) {
      const started = launch(binaries, { data, folder, port, connectionsMax, user });
      watchdog.guard(started.server);
      try {
        await answering(url, started, deadline);
        return started.server;
      } catch (error) {
        if (!WORKERS_REMAIN.test(started.output) || performance.now() > deadline) throw error;
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
    binaries,
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

interface Launch {
  readonly data: string;
  readonly folder: string;
  readonly port: number;
  readonly connectionsMax: number;
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
}

/** On a busy machine, workers of a server that was killed end after it. */
const WORKERS_REMAIN = /pre-existing shared memory block/;

interface Launched {
  readonly server: ChildProcess;
  /** The end of its stderr. */
  output: string;
}

function launch(binaries: string, options: Launch): Launched {
  const { data, folder, port, connectionsMax, user } = options;
  // Without fsync, a killed server still keeps every commit; only a power loss would lose one.
  const settings = ["fsync=off", "listen_addresses=127.0.0.1", `max_connections=${connectionsMax}`];
  const server = spawn(
    join(binaries, "postgres"),
    ["-D", data, "-p", String(port), "-k", folder, ...settings.flatMap((one) => ["-c", one])],
    { stdio: ["ignore", "ignore", "pipe"], cwd: folder, ...user },
  );
  const launched = { server, output: "" };
  server.stderr.setEncoding("utf8").on("data", (text: string) => {
    launched.output = (launched.output + text).slice(-4_000);
  });
  return launched;
}

async function answering(url: string, launched: Launched, deadline: number): Promise<void> {
  const { server } = launched;
  while (!(await answers(url))) {
    if (server.exitCode !== null || performance.now() > deadline) {
      server.kill("SIGKILL");
      throw new Error(`postgres did not start:\n${launched.output}`);
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

/** Postgres refuses to run as root, so it runs as a user that exists on every Debian. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) =>
        Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: "pipe" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // This machine has no such user.
    }
  }
  throw new Error("postgres refuses to run as root; create a user named postgres");
}

function findBinaries(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const folders = [
    ...versions.sort((a, b) => Number(b) - Number(a)).map((name) => join(debian, name, "bin")),
    ...(process.env["PATH"] ?? "").split(delimiter),
  ];
  return folders.find((folder) => ["postgres", "initdb"].every((f) => existsSync(join(folder, f))));
}
