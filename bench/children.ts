import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { childrenOf } from "./cpu-time.ts";

const READY_WITHIN_MS = 120_000;
const END_WITHIN_MS = 10_000;
/** How much of its output is shown if a child ends by itself. */
const LAST_LINES = 20;

/** How to start a child process. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The core for the process and its children. Ignored on one core or without `taskset`. */
  readonly core: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Opens a message channel, for Node programs of this folder. */
  readonly ipc?: boolean;
}

/** A child process whose output goes to a file. */
export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Returns its output so far. */
  output(): string;
  /** Sends SIGTERM, and SIGKILL after 10 s. */
  end(): Promise<void>;
}

/**
 * The processes and folders of a run. Ends and removes all of them when the run exits for any
 * reason.
 */
export class Children {
  private readonly running = new Set<ChildProcess>();
  private readonly folders: string[] = [];
  private readonly pins =
    availableParallelism() > 1 && spawnSync("taskset", ["--version"]).status === 0;

  constructor() {
    process.once("exit", () => this.killAll());
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.once(signal, () => process.exit(130));
    }
  }

  /** True if the proxy has its own core, separate from load and upstream. */
  get pinned(): boolean {
    return this.pins;
  }

  /** Makes a folder that is removed when the run ends. */
  folder(name: string): string {
    const folder = mkdtempSync(join(tmpdir(), `bench-${name}-`));
    this.folders.push(folder);
    return folder;
  }

  start(name: string, options: ChildOptions): Child {
    const log = join(this.folder(name), "output.log");
    const file = openSync(log, "w");
    const direct = [options.command, ...options.args];
    // taskset execs the command, so the process id is that of the command.
    const words = this.pins ? ["taskset", "-c", String(options.core), ...direct] : direct;
    const child = spawn(words[0]!, words.slice(1), {
      stdio: ["ignore", file, file, ...(options.ipc ? (["ipc"] as const) : [])],
      env: { ...process.env, ...options.env },
    });
    closeSync(file);
    this.running.add(child);
    const output = () => readFileSync(log, "utf8");
    const ended = new Promise<void>((resolve) => {
      child.once("exit", (code, signal) => {
        if (!child.killed && code !== 0) {
          const last = output().split("\n").slice(-LAST_LINES).join("\n");
          console.error(`${name} ended by itself: ${signal ?? `exit status ${code}`}\n${last}`);
        }
        resolve();
      });
      child.once("error", () => resolve());
    });
    void ended.then(() => this.running.delete(child));
    return {
      pid: child.pid ?? 0,
      process: child,
      output,
      async end() {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill("SIGTERM");
        const timer = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
        await ended;
        clearTimeout(timer);
      },
    };
  }

  /** Kills the processes that a failed scenario left running. */
  async endAll(): Promise<void> {
    const ended = [...this.running].map(
      (child) => new Promise((resolve) => child.once("exit", resolve)),
    );
    for (const child of this.running) killTree(child);
    await Promise.all(ended);
  }

  private killAll(): void {
    for (const child of this.running) killTree(child);
    // Retries, because a killed process may still finish a write.
    const patient = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };
    for (const folder of this.folders) rmSync(folder, patient);
  }
}

/**
 * Kills a process and its children. The gateway's ledger would otherwise run until it notices the
 * lost parent.
 */
function killTree(child: ChildProcess): void {
  const below = child.pid === undefined ? [] : childrenOf(child.pid);
  child.kill("SIGKILL");
  for (const pid of below) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  }
}

/**
 * Resolves once `ready` returns true. Rejects with the child's output if it ends or takes over two
 * minutes.
 */
export async function untilReady(
  name: string,
  child: Child,
  ready: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  for (;;) {
    if (await ready()) return;
    if (child.process.exitCode !== null || child.process.signalCode !== null) {
      throw new Error(`${name} ended before it was ready:\n${child.output()}`);
    }
    if (Date.now() > deadline) {
      throw new Error(`${name} was not ready in ${READY_WITHIN_MS / 1_000} s:\n${child.output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
