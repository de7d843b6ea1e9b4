import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";

const READY_TIMEOUT_MS = 30_000;

export interface TestPostgres {
  /** An empty database of its own. */
  readonly url: string;
  /** Kills the server as a crash would and waits until it is gone; only where this run has started it. */
  kill?(): Promise<void>;
  /** Starts it again on the same data and port. */
  restart?(): Promise<void>;
  stop(): Promise<void>;
}

/** A server of this run's own, so that it may be harmed. */
export interface PostgresServer extends TestPostgres {
  readonly port: number;
  /** To all processes of the server. */
  signal(signal: NodeJS.Signals): void;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/** A server on a free port, from the machine's binaries, else from those that apt installs. */
export function startPostgresServer(): Promise<PostgresServer> {
  return startServer(findBinaries() ?? installBinaries());
}

/**
 * A real Postgres for one test file: a new database on the server that DATABASE_URL names, else a server
 * of its own on a free port, from the machine's binaries, else from those that apt installs.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const given = process.env["DATABASE_URL"];
  return given ? createDatabase(given) : startPostgresServer();
}

async function createDatabase(server: string): Promise<TestPostgres> {
  const name = `tollgate_test_${randomUUID().replaceAll("-", "")}`;
  const sql = postgres(server, { max: 1 });
  await sql.unsafe(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async stop() {
      await sql.unsafe(`drop database ${name} with (force)`);
      await sql.end();
    },
  };
}

async function startServer(binaries: string): Promise<PostgresServer> {
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
  const start = () => launch(binaries, data, folder, port, url, user);
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
    for (const pid of [server.pid, ...childrenOf(server.pid)]) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  };
  return {
    url,
    port,
    signal: signalAll,
    async kill() {
      const gone = isGone() ? undefined : once(server, "exit");
      signalAll("SIGKILL");
      await gone;
    },
    async restart() {
      server = await start();
    },
    async stop() {
      await end("SIGQUIT");
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function launch(
  binaries: string,
  data: string,
  folder: string,
  port: number,
  url: string,
  user: { uid: number; gid: number } | undefined,
) {
  // Without fsync a kill of the server still loses nothing that was committed; only a loss of power would.
  const settings = ["fsync=off", "listen_addresses=127.0.0.1"];
  const server = spawn(
    join(binaries, "postgres"),
    ["-D", data, "-p", String(port), "-k", folder, ...settings.flatMap((one) => ["-c", one])],
    { stdio: ["ignore", "ignore", "pipe"], cwd: folder, ...user },
  );
  // A test run that dies takes its server with it.
  const killServer = () => server.kill("SIGKILL");
  process.once("exit", killServer);
  server.once("exit", () => process.off("exit", killServer));
  let output = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-4_000);
  });
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!(await answers(url))) {
    if (server.exitCode !== null || performance.now() > deadline) {
      server.kill("SIGKILL");
      throw new Error(`postgres did not start:\n${output}`);
    }
    await delay(50);
  }
  return server;
}

/** The server's workers are in process groups of their own. */
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

/** Postgres refuses to run as root; a user that exists on every Debian takes its place. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) =>
        Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: "pipe" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // No such user here.
    }
  }
  throw new Error("postgres refuses to run as root, and there is no user postgres or nobody here");
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

function installBinaries(): string {
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    execFileSync("apt-get", ["update", "-qq"], { env, stdio: "pipe" });
    execFileSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "postgresql"], {
      env,
      stdio: "pipe",
    });
    const found = findBinaries();
    if (found) return found;
  }
  throw new Error(
    "The tests need Postgres: set DATABASE_URL to a server where a database may be created, " +
      "or install it (Debian: apt install postgresql; macOS: brew install postgresql).",
  );
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}
