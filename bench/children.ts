import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { childrenOf } from "./cpu-time.ts";

const READY_WITHIN_MS = 120_000;
const END_WITHIN_MS = 10_000;

/** What a child is started with. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The core it may run on, where the machine has several and `taskset` is there; inherited by its children. */
  readonly core: number;
  readonly env?: Readonly<Record<string, string>>;
  /** A channel for messages, for children that are Node programs of this folder. */
  readonly ipc?: boolean;
}

/** A child process with its output in a file. */
export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Everything it has written so far. */
  output(): string;
  /** Asks it to end, and makes it end where it does not. */
  end(): Promise<void>;
}

/** All processes and folders of a run, so that none outlives it, however it ends. */
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

  /** Whether the proxy has a core of its own, away from load and upstream. */
  get pinned(): boolean {
    return this.pins;
  }

  /** A new folder that is removed at the end. */
  folder(name: string): string {
    const folder = mkdtempSync(join(tmpdir(), `bench-${name}-`));
    this.folders.push(folder);
    return folder;
  }

  start(name: string, options: ChildOptions): Child {
    const log = join(this.folder(name), "output.log");
    const file = openSync(log, "w");
    const direct = [options.command, ...options.args];
    // taskset replaces itself by the command, so the process id is the command's own.
    const words = this.pins ? ["taskset", "-c", String(options.core), ...direct] : direct;
    const child = spawn(words[0]!, words.slice(1), {
      stdio: ["ignore", file, file, ...(options.ipc ? (["ipc"] as const) : [])],
      env: { ...process.env, ...options.env },
    });
    closeSync(file);
    this.running.add(child);
    const ended = new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.once("error", () => resolve());
    });
    void ended.then(() => this.running.delete(child));
    return {
      pid: child.pid ?? 0,
      process: child,
      output: () => readFileSync(log, "utf8"),
      async end() {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill("SIGTERM");
        const timer = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
        await ended;
        clearTimeout(timer);
      },
    };
  }

  /** Ends what a scenario that failed has left behind. */
  async endAll(): Promise<void> {
    const ended = [...this.running].map(
      (child) => new Promise((resolve) => child.once("exit", resolve)),
    );
    for (const child of this.running) killTree(child);
    await Promise.all(ended);
  }

  private killAll(): void {
    for (const child of this.running) killTree(child);
    // What is killed may finish a write first.
    const patient = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };
    for (const folder of this.folders) rmSync(folder, patient);
  }
}

/** Kills a process and its children: the gateway's ledger would otherwise end only when it misses its parent. */
function killTree(child: ChildProcess): void {
  const below = child.pid === undefined ? [] : childrenOf(child.pid);
  child.kill("SIGKILL");
  for (const pid of below) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended already.
    }
  }
}

/** Resolves when `ready` answers true; rejects with the child's output where it ends or takes too long. */
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
    if (Date.now() > deadline) throw new Error(`${name} did not get ready:\n${child.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
