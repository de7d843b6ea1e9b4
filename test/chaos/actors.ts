import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { packageRoot } from "../../core/process/root.ts";
import { freePort } from "../support/free-port.ts";
import type { TestGateway } from "../support/gateway.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";
import { Watchdog } from "../support/watchdog.ts";
import type { Builds } from "./builds.ts";
import type { SmallDisk } from "./small-disk.ts";

const RETRY_MS = 100;

/** A server that can be killed and frozen, and is restarted after a kill. */
export interface Actor {
  readonly name: string;
  readonly kind: "gateway" | "redis" | "postgres" | "simulator";
  /** How often it was killed. */
  readonly kills: number;
  /** The longest time from its first try to start until it was ready. */
  readonly longestStartMs: number;
  /** False from a kill or a freeze until it is ready or goes on. */
  readonly isUp: boolean;
  /** Sends SIGKILL and resolves when the process has ended. */
  kill(): Promise<void>;
  /** Ends it as an operator does, and resolves when the process has ended. */
  stop(): Promise<void>;
  /** Starts it again; rejects if it does not become ready. */
  start(): Promise<void>;
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
}

/** The process that an actor runs. */
export interface Runnable {
  kill(): Promise<void>;
  /** Default: `kill`. */
  stop?(): Promise<void>;
  start(): Promise<void>;
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
}

export interface GatewayActor extends Actor {
  readonly kind: "gateway";
  readonly index: number;
  readonly gateway: TestGateway;
  /** Its data folder, if that is on a disk that can be filled. */
  readonly disk: SmallDisk | undefined;
  /** Ends of the process that no fault caused, and stops that never ended. */
  readonly ends: readonly string[];
  /** The longest time from SIGTERM until the process had ended. */
  readonly longestStopMs: number;
  /** Of a run with two: the one that it runs from its last start on. */
  readonly version: Version;
  /** The version that it runs from the next start on. */
  run(version: Version): void;
}

/** Which of the two versions of a run. Without two, each gateway is of the newer. */
export type Version = "older" | "newer";

/** A proxied connection between two servers, which can be cut and slowed. */
export interface Link {
  readonly name: string;
  readonly proxy: TcpProxy;
}

/** The actor or link that a fault harms. No two faults harm the same one at once. */
export type Victim = Actor | GatewayActor | Link;

/** Starts it until it is ready, as a service manager would. */
export async function startAgain(actor: Actor): Promise<void> {
  for (;;) {
    try {
      return await actor.start();
    } catch {
      await delay(RETRY_MS);
    }
  }
}

export function actorOf(name: string, kind: Actor["kind"], process: Runnable): Actor {
  let kills = 0;
  let isUp = true;
  let longestStartMs = 0;
  let startedAtMs: number | undefined;
  return {
    name,
    kind,
    get kills() {
      return kills;
    },
    get longestStartMs() {
      return longestStartMs;
    },
    get isUp() {
      return isUp;
    },
    async kill() {
      kills += 1;
      isUp = false;
      await process.kill();
    },
    async stop() {
      isUp = false;
      await (process.stop ?? process.kill)();
    },
    async start() {
      startedAtMs ??= performance.now();
      await process.start();
      longestStartMs = Math.max(longestStartMs, performance.now() - startedAtMs);
      startedAtMs = undefined;
      isUp = true;
    },
    signal(signal) {
      process.signal(signal);
      isUp = signal === "SIGCONT";
    },
  };
}

export function gatewayActor(
  gateway: TestGateway,
  index: number,
  options: {
    readonly disk: SmallDisk | undefined;
    readonly builds: Builds | undefined;
    /** The version that it runs. */
    readonly version: Version;
    /** True once the database is one that the older version does not start on. */
    mustUpgrade(): boolean;
  },
): GatewayActor {
  const { disk, builds } = options;
  const ends: string[] = [];
  let life = 0;
  const observe = () => {
    life += 1;
    const observed = life;
    void gateway.ended().then((code) => {
      if (observed === life) ends.push(`gateway ${index} ended by itself with status ${code}`);
    });
  };
  const actor = actorOf(`gateway ${index}`, "gateway", {
    async kill() {
      life += 1;
      await gateway.kill9();
    },
    async stop() {
      life += 1;
      const fromMs = performance.now();
      await gateway.stop().catch((error: unknown) => ends.push(`gateway ${index}: ${error}`));
      made.longestStopMs = Math.max(made.longestStopMs, performance.now() - fromMs);
    },
    async start() {
      life += 1;
      if (options.mustUpgrade()) made.run("newer");
      // A start that was late ends with a kill; the next one begins afresh.
      await gateway.kill9();
      await gateway.start();
      observe();
    },
    signal: (signal) => gateway.signal(signal),
  });
  observe();
  // Assigned to the actor itself, which a copy would leave without its getters.
  const made = Object.assign(actor, {
    ...{ kind: "gateway" as const, index, gateway, disk, ends, longestStopMs: 0 },
    version: options.version,
    run(version: Version) {
      made.version = version;
      if (builds) gateway.runFrom(builds[version].root);
    },
  });
  return made;
}

export interface PostgresActor extends Actor {
  /** Copies all that is committed, as a backup of its disk does. */
  backUp(): void;
  /** Kills it, and starts it with the last backup. */
  restore(): Promise<void>;
}

export type ClosableActor = Actor & { readonly url: string; close(): Promise<void> };

export async function startPostgresActor(): Promise<ClosableActor & PostgresActor> {
  const server = await startPostgresServer();
  const { data } = server;
  const kept = `${data}-backup`;
  const copy = (from: string, to: string) => {
    rmSync(to, { recursive: true, force: true });
    execFileSync("cp", ["-a", from, to]);
  };
  const actor = actorOf("postgres", "postgres", {
    kill: () => server.kill(),
    start: () => server.restart(),
    signal: (signal) => server.signal(signal),
  });
  return Object.assign(actor, {
    url: server.url,
    backUp() {
      actor.signal("SIGSTOP");
      try {
        copy(data, kept);
      } finally {
        actor.signal("SIGCONT");
      }
    },
    async restore() {
      await actor.kill();
      copy(kept, data);
      await startAgain(actor);
    },
    close: () => server.stop(),
  });
}

export async function startSimulatorActor(): Promise<ClosableActor> {
  const port = await freePort();
  const program = join(packageRoot, "dist", "test", "support", "provider", "main.js");
  const watchdog = new Watchdog();
  let child: ChildProcess | undefined;
  const actor = actorOf("simulator", "simulator", {
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
    signal(signal) {
      child?.kill(signal);
    },
  });
  await actor.start();
  return Object.assign(actor, {
    url: `http://127.0.0.1:${port}`,
    close: () => watchdog.stop(),
  });
}
