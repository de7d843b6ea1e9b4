import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { freePort } from "../test/support/free-port.ts";
import { type Child, type Children, untilReady } from "./children.ts";
import { accepts, LOAD_CORE } from "./targets.ts";

/** A Redis or Postgres server of the benchmark, on the core of the load. */
export interface StoreServer {
  readonly url: string;
  readonly pid: number;
  end(): Promise<void>;
}

/**
 * Starts Redis with the settings that the money guarantees need: see `config/deploy/redis.conf`.
 */
export async function startRedis(children: Children): Promise<StoreServer> {
  const port = await freePort();
  const folder = children.folder("redis");
  const listen = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder];
  const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"];
  const args = [...listen, ...durable, "--maxmemory-policy", "noeviction"];
  const command = executable("redis-server", pathFolders());
  return whenReady("redis", children.start("redis", { command, args, core: LOAD_CORE }), {
    port,
    url: `redis://127.0.0.1:${port}`,
  });
}

export interface PostgresOptions {
  readonly connectionsMax?: number;
  /** `shared_buffers`. */
  readonly buffersMb?: number;
  /** A folder that is kept when the run ends, with what an earlier run left there. */
  readonly keptFolder?: string | undefined;
}

/** Starts Postgres, with fsync: no gateway starts without. */
export async function startPostgres(
  children: Children,
  { connectionsMax = 100, buffersMb = 128, keptFolder }: PostgresOptions = {},
): Promise<StoreServer> {
  const port = await freePort();
  const folder = keptFolder ?? children.folder("postgres");
  mkdirSync(folder, { recursive: true });
  const data = join(folder, "data");
  const places = [...debianFolders(), ...pathFolders()];
  // Postgres refuses to run as root.
  const user = process.getuid?.() === 0 ? "postgres" : undefined;
  if (user) {
    const id = (flag: string) => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
    chownSync(folder, id("-u"), id("-g"));
    chmodSync(folder, 0o700);
  }
  const as = (command: string, args: string[]) =>
    user
      ? {
          command: "setpriv",
          args: ["--reuid", user, "--regid", user, "--init-groups", command, ...args],
        }
      : { command, args };
  if (!existsSync(data)) {
    const make = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"];
    const initdb = as(executable("initdb", places), make);
    execFileSync(initdb.command, initdb.args, { stdio: "pipe", cwd: folder });
  }
  const settings = [
    `max_connections=${connectionsMax}`,
    `shared_buffers=${buffersMb}MB`,
    "listen_addresses=127.0.0.1",
  ];
  const run = [
    "-D",
    data,
    "-p",
    `${port}`,
    "-k",
    folder,
    ...settings.flatMap((one) => ["-c", one]),
  ];
  const server = as(executable("postgres", places), run);
  return whenReady("postgres", children.start("postgres", { ...server, core: LOAD_CORE }), {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
  });
}

async function whenReady(
  name: string,
  child: Child,
  { port, url }: { port: number; url: string },
): Promise<StoreServer> {
  await untilReady(name, child, () => accepts(port));
  return { url, pid: child.pid, end: () => child.end() };
}

function executable(name: string, folders: readonly string[]): string {
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined)
    throw new Error(`${name} is not installed: install it for this scenario`);
  return found;
}

function pathFolders(): string[] {
  return (process.env["PATH"] ?? "").split(delimiter);
}

function debianFolders(): string[] {
  const folder = "/usr/lib/postgresql";
  const versions = existsSync(folder) ? readdirSync(folder) : [];
  return versions.map((version) => join(folder, version, "bin"));
}
