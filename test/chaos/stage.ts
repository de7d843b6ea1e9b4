import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { packageRoot } from "../../core/process/root.ts";
import { freePort } from "../support/free-port.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { type PostgresServer, startPostgresServer } from "../support/postgres-server.ts";
import { type RedisServer, startRedisServer } from "../support/redis.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { Watchdog } from "../support/watchdog.ts";
import { Snapshots } from "./snapshots.ts";

const RETRY_MS = 100;
/** Small, so that a stream of a few hundred tokens extends its hold several times. */
const SLICE_TOKENS = 64;

/** A server that can be killed and frozen, and is restarted after a kill. */
export interface Actor {
  readonly name: string;
  readonly kind: "gateway" | "redis" | "postgres" | "simulator";
  /** Sends SIGKILL and resolves when the process has ended. */
  kill(): Promise<void>;
  /** Starts it again; rejects if it does not become ready. */
  start(): Promise<void>;
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
}

/** A proxied connection between two servers, which can be cut and slowed. */
export interface Link {
  readonly name: string;
  readonly proxy: TcpProxy;
}

/** All servers, with a proxy on every connection between them. */
export interface Stage {
  readonly actors: readonly Actor[];
  readonly links: readonly Link[];
  readonly gateways: readonly TestGateway[];
  readonly redis: RedisServer;
  readonly snapshots: Snapshots;
  readonly postgresUrl: string;
  close(): Promise<void>;
}

export interface StageOptions {
  readonly gateways: number;
  readonly appendFsync: "always" | "everysec";
}

export async function buildStage({ gateways: count, appendFsync }: StageOptions): Promise<Stage> {
  const settings = ["--save", "", "--appendonly", "yes", "--appendfsync", appendFsync];
  const [postgres, redis, simulator] = await Promise.all([
    startPostgresServer(),
    startRedisServer({ settings }),
    startSimulator(),
  ]);
  const links: Link[] = [];
  const link = async (name: string, port: number) => {
    const proxy = await startTcpProxy(port);
    links.push({ name, proxy });
    return proxy.port;
  };
  const gateways: TestGateway[] = [];
  for (let at = 0; at < count; at += 1) {
    const name = `gateway ${at}`;
    const hot = `redis://127.0.0.1:${await link(`${name} - redis`, redis.port)}`;
    const database = await link(`${name} - postgres`, postgres.port);
    const ledger = `postgres://postgres@127.0.0.1:${database}/postgres`;
    const provider = await link(`${name} - simulator`, simulator.port);
    const gateway = await startGateway({
      simulator: { ...NO_SIMULATOR, port: provider },
      config: {
        stores: { hot, ledger },
        limits: { idle_seconds: 15, connect_seconds: 2 },
      },
      plugins: { settle: { slice_tokens: SLICE_TOKENS } },
    });
    gateways.push(gateway);
  }
  const actors: Actor[] = [
    ...gateways.map((gateway, at) => gatewayActor(gateway, `gateway ${at}`)),
    redisActor(redis),
    postgresActor(postgres),
    simulator,
  ];
  return {
    actors,
    links,
    gateways,
    redis,
    snapshots: new Snapshots(redis),
    postgresUrl: postgres.url,
    async close() {
      await Promise.all(gateways.map((gateway) => gateway.close()));
      await Promise.all(links.map(({ proxy }) => proxy.close()));
      await simulator.close();
      await redis.stop();
      await postgres.stop();
    },
  };
}

/** The simulator is an actor of its own; gateways need only its port. */
const NO_SIMULATOR = {
  url: "",
  stats: async () => ({}),
  reset: async () => {},
  stop: async () => {},
};

/** Retries until it starts, as a service manager would. */
export async function startAgain(actor: Actor, isWanted: () => boolean): Promise<void> {
  while (isWanted()) {
    try {
      return await actor.start();
    } catch {
      await delay(RETRY_MS);
    }
  }
}

function gatewayActor(gateway: TestGateway, name: string): Actor {
  return {
    name,
    kind: "gateway",
    kill: () => gateway.kill9(),
    start: () => gateway.start(),
    signal: (signal) => gateway.signal(signal),
  };
}

function redisActor(redis: RedisServer): Actor {
  return {
    name: "redis",
    kind: "redis",
    kill: () => redis.kill(),
    start: () => redis.start(),
    signal: (signal) => redis.signal(signal),
  };
}

function postgresActor(postgres: PostgresServer): Actor {
  return {
    name: "postgres",
    kind: "postgres",
    kill: () => postgres.kill(),
    start: () => postgres.restart(),
    signal: (signal) => postgres.signal(signal),
  };
}

async function startSimulator(): Promise<Actor & { port: number; close(): Promise<void> }> {
  const port = await freePort();
  const program = join(packageRoot, "dist", "plugins", "simulator", "main.js");
  const watchdog = new Watchdog();
  let child: ChildProcess | undefined;
  const simulator = {
    name: "simulator",
    kind: "simulator" as const,
    port,
    async start() {
      const started = spawn(process.execPath, [program, "--port", `${port}`], {
        stdio: ["ignore", "pipe", "ignore"],
      });
      child = started;
      watchdog.guard(started);
      const gone = once(started, "exit").then(() => false);
      const isUp = await Promise.race([once(started.stdout, "data").then(() => true), gone]);
      if (!isUp) throw new Error("the simulator did not start");
    },
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
    signal(signal: "SIGSTOP" | "SIGCONT") {
      child?.kill(signal);
    },
    close: () => watchdog.stop(),
  };
  await simulator.start();
  return simulator;
}
