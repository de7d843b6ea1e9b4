import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { RedisClient } from "../../core/redis/client.ts";
import { foundOrInstalled } from "./debian-package.ts";
import { freePort } from "./free-port.ts";
import { Watchdog } from "./watchdog.ts";

const READY_TIMEOUT_MS = 300_000;
const START_ATTEMPTS = 5;
const SLOTS = 16_384;
const ADVICE =
  "The tests need Redis 7: set REDIS_URL to a server that they may use, or install it " +
  "(Debian: apt install redis-server; macOS: brew install redis).";

export interface TestRedis {
  /** As `stores.hot` takes it: a URL, or a list of them for a cluster. */
  readonly servers: string | readonly string[];
  /** Deletes every key with this prefix: everything a test has created. */
  wipe(prefix: string): Promise<void>;
  stop(): Promise<void>;
}

/** A server for one test, which may kill it. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Its data folder; deleted by `stop`. */
  readonly folder: string;
  /** Runs one command on the test's own connection. */
  call(name: string, ...args: string[]): Promise<unknown>;
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGKILL and waits until the server has ended. */
  kill(): Promise<void>;
  /** Starts it again on the same port, and in the same folder if its settings keep data. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** One Redis: the one that REDIS_URL names, else its own server. */
export async function startRedis(): Promise<TestRedis> {
  const given = process.env["REDIS_URL"];
  if (given === undefined) {
    const server = await startRedisServer();
    return { servers: server.url, wipe: (prefix) => wipe(server.url, prefix), stop: server.stop };
  }
  return { servers: given, wipe: (prefix) => wipe(given, prefix), async stop() {} };
}

export interface TestCluster extends TestRedis {
  /** The primaries, each of a third of the slots, until a fail-over. */
  readonly nodes: readonly RedisServer[];
  /** One replica per node if `replicas` was set, in the same order. */
  readonly replicas: readonly RedisServer[];
}

/**
 * Starts a cluster of three primaries, each with a replica on request. `start` starts one node;
 * without it, a node that restarts has lost its data.
 */
export async function startRedisCluster({
  replicas: hasReplicas = false,
  start = () => startRedisServer({ cluster: true }),
}: {
  replicas?: boolean;
  start?: () => Promise<RedisServer>;
} = {}): Promise<TestCluster> {
  const nodes = await Promise.all([start(), start(), start()]);
  const replicas = hasReplicas ? await Promise.all([start(), start(), start()]) : [];
  const all = [...nodes, ...replicas];
  const [first] = nodes;
  for (const [at, node] of nodes.entries()) {
    const from = Math.floor((SLOTS * at) / nodes.length);
    const to = Math.floor((SLOTS * (at + 1)) / nodes.length) - 1;
    await node.call("CLUSTER", "ADDSLOTSRANGE", `${from}`, `${to}`);
    await node.call("CLUSTER", "SET-CONFIG-EPOCH", `${at + 1}`);
  }
  const bus = String(await clusterPort(first));
  for (const node of all.slice(1)) {
    await node.call("CLUSTER", "MEET", "127.0.0.1", `${first.port}`, bus);
  }
  const servers = nodes.map((node) => node.url);
  await until("the cluster is formed", async () => {
    const states = await Promise.all(all.map((node) => node.call("CLUSTER", "INFO")));
    const known = `known_nodes:${all.length}`;
    return states.every(
      (state) => /cluster_state:ok/.test(`${state}`) && `${state}`.includes(known),
    );
  });
  for (const [at, replica] of replicas.entries()) {
    const id = await nodes[at]?.call("CLUSTER", "MYID");
    await until("the replica knows its primary", async () => {
      await replica.call("CLUSTER", "REPLICATE", String(id));
      return true;
    });
  }
  for (const replica of replicas) {
    await until("the replica follows its primary", async () =>
      `${await replica.call("INFO", "replication")}`.includes("master_link_status:up"),
    );
  }
  return {
    servers,
    nodes,
    replicas,
    wipe: async (prefix) => {
      await Promise.all(servers.map((server) => wipe(server, prefix)));
    },
    async stop() {
      await Promise.all(all.map((node) => node.stop()));
    },
  };
}

/**
 * Starts a server on a free port, which ends with the test. `settings` are lines of redis.conf as
 * arguments; without them, a restart loses all data.
 */
export async function startRedisServer(
  options: { cluster?: boolean; settings?: readonly string[] } = {},
): Promise<RedisServer> {
  const binary = await installedRedis();
  for (let attempt = 1; ; attempt += 1) {
    const server = new Server(binary, await freePort(), await freePort(), options);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

class Server implements RedisServer {
  readonly url: string;
  private readonly settings: readonly string[];
  readonly folder = mkdtempSync(join(tmpdir(), "tollgate-redis-"));
  private readonly watchdog = new Watchdog(this.folder);
  private child: ChildProcess | undefined;
  private client: RedisClient | undefined;

  constructor(
    private readonly binary: string,
    readonly port: number,
    busPort: number,
    options: { cluster?: boolean; settings?: readonly string[] },
  ) {
    const { cluster = false, settings = ["--save", "", "--appendonly", "no"] } = options;
    this.url = `redis://127.0.0.1:${port}`;
    // A replica takes over from a primary that is silent for this long.
    const timeout = ["--cluster-node-timeout", "5000"];
    const clustered = ["--cluster-enabled", "yes", "--cluster-port", `${busPort}`, ...timeout];
    this.settings = cluster ? [...settings, ...clustered] : settings;
    this.stop = this.stop.bind(this);
  }

  async start(): Promise<void> {
    const listen = ["--port", `${this.port}`, "--bind", "127.0.0.1", "--dir", this.folder];
    const child = spawn(this.binary, [...listen, ...this.settings], { stdio: "ignore" });
    this.child = child;
    child.unref();
    this.watchdog.guard(child);
    // A client would wait forever for a server that has ended, because another process took its port.
    const ended = once(child, "exit").then(() => {
      throw new Error("redis-server ended before it was ready");
    });
    const ready = until("redis replies", async () => (await this.call("PING")) === "PONG");
    await Promise.race([ended, ready]);
  }

  async call(name: string, ...args: string[]): Promise<unknown> {
    if (this.client === undefined) {
      const client = new RedisClient(this.url, 5_000);
      this.client = client;
      await new Promise<void>((resolve) => client.connect(resolve));
    }
    return this.client.call(name, ...args);
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  async kill(): Promise<void> {
    this.client?.disconnect();
    this.client = undefined;
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    await this.watchdog.stop();
  }
}

/** Deletes the keys of a test in one script, so that no other command runs in between. */
async function wipe(server: string, prefix: string): Promise<void> {
  const client = new RedisClient(server, 10_000);
  await new Promise<void>((resolve) => client.connect(resolve));
  const script =
    "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end";
  await client.call("EVAL", script, "0", `${prefix}:*`);
  client.disconnect();
}

async function clusterPort(node: RedisServer): Promise<number> {
  const answer = await node.call("CONFIG", "GET", "cluster-port");
  const text = JSON.stringify(answer instanceof Map ? [...answer] : answer);
  return Number(/\d+/.exec(text)?.[0]);
}

async function until(what: string, isSo: () => Promise<unknown> | undefined): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const answer = await Promise.resolve(isSo()).catch(() => false);
    if (answer) return;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${READY_TIMEOUT_MS} ms`);
    await delay(10);
  }
}

/** Returns the Redis server of this machine, or the one that apt installs. */
export function installedRedis(): Promise<string> {
  return foundOrInstalled(findBinary, "redis-server", ADVICE);
}

function findBinary(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.map((folder) => join(folder, "redis-server")).find((file) => existsSync(file));
}
