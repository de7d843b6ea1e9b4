import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmdir,
  writeFileSync,
} from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../process/backoff.ts";
import { type FolderLock, lockFolder, shortSocketPath } from "../process/lock.ts";
import type { Log } from "../process/log.ts";
import { messageOf } from "../process/thrown.ts";
import { connect, type Sql } from "./client.ts";
import { createFiles, databaseUser, endLeftover, filesOf } from "./embedded-folder.ts";
import {
  endOfOutput,
  exitFault,
  type PostgresBuild,
  packagedBuild,
  runProgram,
  type SystemUser,
  spawnFault,
} from "./postgres-build.ts";
import { type DatabaseServer, remoteServer } from "./server.ts";

/** A database whose gateway was killed takes a moment to end. */
const LOCK_WAIT_MS = 5_000;
/** Each is a process of its own, of some 5 MB. */
const CONNECTIONS = { pages: 2, commits: 1, loads: 1 };
const SOCKET = ".s.PGSQL.5432";

interface EmbeddedDatabaseOptions {
  /** The folder of the database, for one gateway at a time. Created with mode 700. */
  readonly folder: string;
  /** How long to wait for another gateway to release the folder. */
  readonly lockWaitMs?: number;
  /** The server cancels a statement after this time; 0, the default, = never. */
  readonly statementTimeoutMs?: number;
  /** Other settings of the server, and a command that runs its programs, for tests. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly wrapper?: readonly string[];
  readonly log: Log;
}

/** Returns the path of the socket of a database in `folder`, an absolute path without links. */
export function embeddedSocket(folder: string): string {
  const path = join(folder, SOCKET);
  const short = shortSocketPath(folder, SOCKET);
  // Too deep for a socket: a folder in the temporary one, with a name that is as long as needed to be its own.
  return short === path ? path : join(short, SOCKET);
}

/** Creates a folder for this user only. Throws if another user was faster, in the temporary folder of all. */
function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Root may use the folder of another user, but not trust it.
  if (folder.startsWith(tmpdir()) && lstatSync(folder).uid !== process.getuid?.()) {
    throw new Error(`${folder} belongs to another user; delete it`);
  }
  chmodSync(folder, 0o700);
}

const STOP_TIMEOUT_MS = 20_000;
/** It is on this machine: one that takes long to reply is slow, not lost. */
const CONNECT_TIMEOUT_S = 30;
const RESTART_MS_MIN = 50;
const RESTART_MS_MAX = 5_000;
const READY = "database system is ready to accept connections";
/** Connections of a server that was killed end a moment after it, or once a slow disk has replied to them. */
const CONNECTIONS_REMAIN = "pre-existing shared memory block";
const REMAIN_MS_MAX = 180_000;

/**
 * Durable, whatever a file in the folder says; small: one gateway with a few connections; and quiet, since the gateway
 * reports failed statements. `minimal`: there is no standby to feed.
 */
const SETTINGS = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  // The default on macOS leaves commits in the cache of the disk.
  ...(process.platform === "darwin" && { wal_sync_method: "fsync_writethrough" }),
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "256MB",
  max_connections: "20",
  shared_buffers: "32MB",
  maintenance_work_mem: "32MB",
  effective_cache_size: "256MB",
  // A start after a crash syncs all files: in one step, if the system has one.
  ...(process.platform === "linux" && { recovery_init_sync_method: "syncfs" }),
  autovacuum: "on",
  autovacuum_max_workers: "1",
  io_method: "sync",
  jit: "off",
  max_parallel_workers_per_gather: "0",
  max_parallel_maintenance_workers: "0",
  max_logical_replication_workers: "0",
  timezone: "UTC",
  log_timezone: "UTC",
  log_destination: "stderr",
  logging_collector: "off",
  log_min_messages: "log",
  log_min_error_statement: "panic",
  log_checkpoints: "off",
  log_line_prefix: "",
};

/**
 * A Postgres in a child process, from npm: nothing to install. While the child restarts after a crash, every statement
 * rejects. Its socket lies in a folder that no other user may enter, so it asks for no password.
 */
export class EmbeddedDatabase implements DatabaseServer {
  readonly sql: Sql;
  readonly commits: Sql;
  readonly loads: Sql;
  readonly socketPath: string;
  private readonly folder: string;
  private lock: FolderLock | undefined;
  private child: ChildProcess | undefined;
  private timer: NodeJS.Timeout | undefined;
  private failures = 0;
  private stopping = false;

  constructor(private readonly options: EmbeddedDatabaseOptions) {
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    this.folder = realpathSync(options.folder);
    this.socketPath = embeddedSocket(this.folder);
    const server = { socketPath: this.socketPath };
    const { log, statementTimeoutMs = 0 } = options;
    const open = (connectionsMax: number) =>
      connect({
        server,
        connectionsMax,
        statementTimeoutMs,
        log,
        connectTimeoutS: CONNECT_TIMEOUT_S,
      });
    this.sql = open(CONNECTIONS.pages);
    this.commits = open(CONNECTIONS.commits);
    this.loads = open(CONNECTIONS.loads);
  }

  /** Resolves when the database takes queries. Rejects with the reason if it cannot. Later crashes are handled here. */
  async start(): Promise<void> {
    const { folder } = this;
    const { lockWaitMs = LOCK_WAIT_MS, log, wrapper } = this.options;
    makePrivate(dirname(this.socketPath));
    this.lock = await lockFolder(folder, lockWaitMs);
    try {
      const build = packagedBuild(`${folder}/lib`);
      const user = databaseUser(folder);
      if (user)
        log.info(user, "Postgres refuses to run as root; the embedded ledger runs as this user");
      await createFiles(build, folder, user, wrapper);
      await this.launch(build, user);
    } catch (error) {
      await this.end();
      throw new Error(`the embedded ledger did not start: ${messageOf(error)}`);
    }
  }

  /** Ends the database with all that is committed in its files; after 20 s it ends as in a crash. */
  async stop(): Promise<void> {
    await remoteServer(this.sql, this.commits, this.loads).stop();
    await this.end();
    // Postgres has removed the socket. The folder of the database is not empty, and stays.
    rmdir(dirname(this.socketPath), () => {});
  }

  private async end(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.timer);
    const { child } = this;
    if (child && isRunning(child)) {
      const exited = once(child, "exit");
      child.kill("SIGINT");
      const timer = setTimeout(() => child.kill("SIGQUIT"), STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(timer);
    }
    await this.lock?.release();
    this.lock = undefined;
  }

  /** Process id of the server while it runs, for tests that kill it. */
  get pid(): number | undefined {
    const { child } = this;
    return child && isRunning(child) ? child.pid : undefined;
  }

  private async launch(build: PostgresBuild, user: SystemUser | undefined): Promise<void> {
    const deadline = performance.now() + REMAIN_MS_MAX;
    for (;;) {
      const child = await this.spawn(build, user);
      const output = endOfOutput(child);
      const fault = await ready(child, output);
      if (fault === undefined) {
        this.failures = 0;
        if (child.pid !== undefined) child.once("exit", lowerPriority(child.pid));
        child.once("exit", (code, signal) => {
          if (this.stopping) return;
          const fields = { code, signal, output: output.text.slice(-2_000) };
          this.options.log.error(fields, "the embedded ledger died; restarting it");
          this.restartSoon(() => this.launch(build, user));
        });
        return;
      }
      if (!fault.includes(CONNECTIONS_REMAIN) || performance.now() > deadline || this.stopping) {
        throw new Error(fault);
      }
      await delay(RESTART_MS_MIN);
    }
  }

  private async spawn(build: PostgresBuild, user: SystemUser | undefined): Promise<ChildProcess> {
    const { settings: own, wrapper } = this.options;
    const files = filesOf(this.folder);
    const env = await endLeftover(files);
    const settings = { ...SETTINGS, unix_socket_directories: dirname(this.socketPath), ...own };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    this.child = runProgram(build, "postgres", ["-D", files, ...args], { user, env, wrapper });
    return this.child;
  }

  private restartSoon(launch: () => Promise<void>): void {
    const restartMs = backoffMs(this.failures + 1, RESTART_MS_MIN, RESTART_MS_MAX);
    this.timer = setTimeout(() => {
      launch().then(
        () => this.options.log.info({}, "the embedded ledger is back"),
        (error: unknown) => {
          if (this.stopping) return;
          this.options.log.error({ err: error }, "cannot start the embedded ledger; retrying");
          this.failures += 1;
          this.restartSoon(launch);
        },
      );
    }, restartMs);
  }
}

/**
 * Resolves when the server takes connections, or with the reason why it does not. Then it has ended. Waits as long as it runs:
 * recovery after a crash takes as long as the disk needs, and one that is cut off begins again at the next start.
 */
function ready(
  child: ChildProcess,
  output: { readonly text: string },
): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.stderr?.on("data", () => {
      if (output.text.includes(READY)) resolve(undefined);
    });
    // Not at its exit: the end of its output may come later.
    child.once("close", (code, signal) => resolve(exitFault(code, signal, output.text)));
    child.once("error", (error) => resolve(spawnFault(error)));
  });
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/** The lowest. If the ledger falls behind on a full core, new calls wait for it before they hold money. */
const NICE = 19;
const LOOK_MS = 500;

/**
 * Lets the gateway run first on a core that it shares with a server of Postgres: a commit of many calls would else
 * delay replies by milliseconds. Returns a function that ends it.
 *
 * Each process of Postgres begins a session of its own. A kernel with `sched_autogroup_enabled`, as on Debian and
 * Ubuntu, gives each session the same share of a core, and `nice` then counts within a session only. So the sessions
 * are lowered too, when they are seen (sched(7)). Neither needs a privilege.
 */
export function lowerPriority(pid: number): () => void {
  // The server's processes inherit it.
  attempt(() => setPriority(pid, NICE));
  const look = () => {
    for (const child of childrenOf(pid)) {
      // Without privileges the kernel takes one change in 100 ms: the others follow at the next looks. So does one that has not
      // begun its session yet.
      attempt(() => {
        const session = `/proc/${child}/autogroup`;
        if (!readFileSync(session, "utf8").endsWith(`nice ${NICE}\n`))
          writeFileSync(session, `${NICE}`);
      });
    }
  };
  look();
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function childrenOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  } catch {
    // Another system, or the server has ended.
    return [];
  }
}

/** Does nothing if the process has ended, or the system has no such setting: commits are as right, and no faster. */
function attempt(change: () => void): void {
  try {
    change();
  } catch {
    // The next look tries again.
  }
}
