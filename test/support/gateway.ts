import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parse } from "yaml";
import { type JsonObject, objectOf } from "../../core/process/json.ts";
import { packageRoot } from "../../core/process/root.ts";
import { BUNDLED_MAIN } from "./bundled-main.ts";
import { tailOf } from "./file-tail.ts";
import { freePort } from "./free-port.ts";
import { type ConfigChanges, testConfig, writeConfig } from "./gateway-config.ts";
import { copyEmptyLedger } from "./ledger-template.ts";
import { migratedDatabase, type TestPostgres } from "./postgres.ts";
import { sharedSimulator, type TestSimulator } from "./simulator.ts";
import { shortLivedFlags } from "./v8-flags.ts";
import { Watchdog } from "./watchdog.ts";
import "./patient-fetch.ts";

const READY_TIMEOUT_MS = 300_000;
const READY_POLL_MS = 50;
const STOP_TIMEOUT_MS = 120_000;
const LOG_TAIL = 4_000;
const START_ATTEMPTS = 3;
const CONFIG_FILE = "gateway.yaml";

export interface GatewayOptions extends ConfigChanges {
  /** Its provider. Default: the one of this process. */
  readonly simulator?: TestSimulator;
  /** Data folder, to start a second gateway on the data of a first. Default: a new one. */
  readonly data?: string;
  /**
   * Default, if the config names no ledger either: a database on the run's Postgres, which starts
   * four times as fast as the embedded one.
   */
  readonly ledger?: "embedded";
  /** Lets the first start create the embedded database itself, which takes seconds. */
  readonly firstStart?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** File for its stdout. Default: that of `logs`. */
  readonly stdout?: string;
  /** Folder of the package to run as it was built. Default: this one, in a plain run as fewer files. */
  readonly root?: string;
  /** The Node to run it with. Default: the one that runs the tests. */
  readonly node?: string;
}

/** A gateway in its own process. */
export interface TestGateway {
  readonly url: string;
  readonly port: number;
  readonly pid: number | undefined;
  readonly adminToken: string;
  /** `data` is its data folder; `folder` holds config and logs. */
  readonly data: string;
  readonly folder: string;
  /** As `stores.ledger` of its config. */
  readonly ledger: string;
  readonly configFile: string;
  readonly simulator: TestSimulator;
  /** Its stdout and stderr, over all its starts. */
  readonly logs: string;
  /** The end of `logs`. */
  readonly logTail: string;
  /** Sends SIGTERM and resolves with the exit code. It may be started again on the same data and port. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL and waits until the process has ended. */
  kill9(): Promise<void>;
  /** Waits until it ends by itself; resolves with the exit code. */
  ended(): Promise<number | null>;
  /** Starts it again after `stop` or `kill9`; resolves when it is ready. */
  start(): Promise<void>;
  /** The package that it runs from the next start on; undefined: as the `root` of options by default. */
  runFrom(root: string | undefined): void;
  /** Replaces the config file; takes effect at SIGHUP or the next start. */
  configure(changes: ConfigChanges): void;
  /** Sends a signal to the running process. */
  signal(signal: NodeJS.Signals): void;
  /** Kills the gateway, gives the shared simulator back, and deletes its folder and database. */
  close(): Promise<void>;
}

/**
 * Starts the built gateway as an operator would and resolves when `/readyz` returns 200: `dist/core/main.js`, in a plain
 * run the same in fewer files. The process ends and its folder is deleted even if the test is killed.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const simulator = options.simulator ?? (await sharedSimulator());
  for (let attempt = 1; ; attempt++) {
    const database = ledgerGiven(options) ? undefined : await migratedDatabase();
    const gateway = new GatewayProcess(options, simulator, await freePort(), database);
    try {
      await gateway.start();
      return gateway;
    } catch (error) {
      const beaten = gateway.logs.includes("cannot listen on");
      await gateway.remove();
      if (!beaten || attempt === START_ATTEMPTS) {
        if (!options.simulator) await simulator.stop();
        throw error;
      }
    }
  }
}

/** The program of a gateway. The tests of a copy of the package, as one with a planted bug, start its own build. */
export function mainProgram(root?: string): string {
  const bundled = process.env[BUNDLED_MAIN];
  if (root === undefined && bundled?.startsWith(join(packageRoot, "/"))) return bundled;
  return join(root ?? packageRoot, "dist", "core", "main.js");
}

/** The ledger that the test names, or that an earlier gateway used on the same data. */
function ledgerGiven({ ledger, firstStart, config, data }: GatewayOptions): string | undefined {
  const named = objectOf(config?.["stores"])?.["ledger"];
  if (typeof named === "string") return named;
  if (ledger || firstStart) return "embedded";
  if (data === undefined) return undefined;
  return ledgerOf(parse(readFileSync(join(data, "..", CONFIG_FILE), "utf8")));
}

function ledgerOf(config: unknown): string {
  return String(objectOf(objectOf(config)?.["stores"])?.["ledger"]);
}

class GatewayProcess implements TestGateway {
  readonly url: string;
  readonly data: string;
  readonly folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  readonly configFile = join(this.folder, CONFIG_FILE);
  private readonly logFile = join(this.folder, "log");
  private readonly token = randomBytes(16).toString("hex");
  private config: JsonObject = {};
  private readonly watchdog = new Watchdog(this.folder);
  private child: ChildProcess | undefined;
  private root: string | undefined;

  constructor(
    private readonly options: GatewayOptions,
    readonly simulator: TestSimulator,
    readonly port: number,
    private readonly database: TestPostgres | undefined,
  ) {
    this.root = options.root;
    this.url = `http://127.0.0.1:${port}`;
    this.data = options.data ?? join(this.folder, "data");
    this.configure({});
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  get ledger(): string {
    return ledgerOf(this.config);
  }

  /** From the config, else from the file that the gateway has created. */
  get adminToken(): string {
    const token = objectOf(this.config["admin"])?.["token"];
    if (typeof token === "string") return token;
    return readFileSync(join(this.data, "admin-token"), "utf8").trim();
  }

  get logs(): string {
    return existsSync(this.logFile) ? readFileSync(this.logFile, "utf8") : "";
  }

  /** The log of a long chaos run has many megabytes: reading all of it at each failed request would stop the test. */
  get logTail(): string {
    return tailOf(this.logFile, LOG_TAIL);
  }

  runFrom(root: string | undefined): void {
    this.root = root;
  }

  configure(changes: ConfigChanges): void {
    const { port, data, token, simulator, database, options } = this;
    const ledger = database?.url ?? ledgerGiven(options);
    const around = { port, data, ledger, adminToken: token, simulatorPort: simulator.port };
    const config = { ...this.options.config, ...changes.config };
    const plugins = { ...this.options.plugins, ...changes.plugins };
    this.config = testConfig({ config, plugins }, around);
    writeConfig(this.configFile, this.config);
  }

  async start(): Promise<void> {
    if (this.child && isRunning(this.child)) throw new Error("the gateway is already running");
    if (this.ledger === "embedded" && !this.options.firstStart) await copyEmptyLedger(this.data);
    // Files: an open pipe keeps the test from ending.
    const log = openSync(this.logFile, "a");
    const stdout = openSync(this.options.stdout ?? this.logFile, "a");
    const child = spawn(
      this.options.node ?? process.execPath,
      [
        ...(this.options.node ? [] : shortLivedFlags()),
        mainProgram(this.root),
        "--config",
        this.configFile,
      ],
      {
        cwd: this.folder,
        stdio: ["ignore", stdout, log],
        env: { ...process.env, ...this.options.env },
      },
    );
    closeSync(stdout);
    closeSync(log);
    this.child = child;
    child.unref();
    this.watchdog.guard(child);
    await this.ready(child);
  }

  async stop(): Promise<number | null> {
    const { child } = this;
    if (!child || !isRunning(child)) return child?.exitCode ?? null;
    const gone = exited(child);
    child.kill("SIGTERM");
    const late = await Promise.race([gone, delay(STOP_TIMEOUT_MS, "late", { ref: false })]);
    if (late === "late") {
      await this.kill9();
      throw new Error(`the gateway did not stop in ${STOP_TIMEOUT_MS} ms\n${this.logTail}`);
    }
    return child.exitCode;
  }

  async kill9(): Promise<void> {
    const { child } = this;
    if (!child || !isRunning(child)) return;
    const gone = exited(child);
    child.kill("SIGKILL");
    await gone;
  }

  async ended(): Promise<number | null> {
    const { child } = this;
    if (child && isRunning(child)) await exited(child);
    return child?.exitCode ?? null;
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  async close(): Promise<void> {
    if (!this.options.simulator) await this.simulator.stop();
    await this.remove();
  }

  /** Kills the process and deletes its folder and database; the simulator keeps running. */
  async remove(): Promise<void> {
    // V8 writes what it has counted when a process exits.
    if (process.env["NODE_V8_COVERAGE"]) await this.stop().catch(() => {});
    await this.kill9();
    await Promise.all([this.watchdog.stop(), this.database?.stop()]);
  }

  private async ready(child: ChildProcess): Promise<void> {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    while (!(await answersReady(this.url))) {
      const late = performance.now() > deadline;
      if (isRunning(child) && !late) await delay(READY_POLL_MS);
      else {
        await this.kill9();
        const why = late ? "is not ready" : `ended with ${child.exitCode ?? child.signalCode}`;
        throw new Error(`the gateway ${why}\n${this.logTail}`);
      }
    }
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function exited(child: ChildProcess): Promise<void> {
  // Referenced, because a test that waits only for an unreferenced child would exit early.
  child.ref();
  await once(child, "exit");
}

async function answersReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`);
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}
