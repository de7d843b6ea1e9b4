import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageRoot } from "../../core/process/root.ts";
import type { Mutant } from "./mutants.ts";

/** A test, as a command: a file, and arguments if it is a program. */
export interface TestCommand {
  readonly name: string;
  readonly args: readonly string[];
}

export interface Run {
  readonly kind: "passed" | "failed" | "timeout";
  readonly ms: number;
}

/** Entries of the package that the copy has as its own, or does not need. */
const LEFT_OUT = new Set(["dist", ".git", ".tap"]);

/** A copy of the compiled package beside links to the rest. One mutant at a time lives in it. */
export class Sandbox {
  readonly root: string = realpathSync(mkdtempSync(join(tmpdir(), "tollgate-mutate-")));
  private readonly env: NodeJS.ProcessEnv;
  private running: ChildProcess | undefined;

  constructor(env: Readonly<Record<string, string>>) {
    const { NODE_OPTIONS: _, ...own } = process.env;
    this.env = { ...own, ...env, TAP_BAIL: "1", TAP_TIMEOUT: "0" };
    for (const name of readdirSync(packageRoot)) {
      if (!LEFT_OUT.has(name)) symlinkSync(join(packageRoot, name), join(this.root, name));
    }
    cpSync(join(packageRoot, "dist"), join(this.root, "dist"), { recursive: true });
  }

  /** Runs `work` while the mutant is in place. */
  async with<T>({ file, start, end, replacement }: Mutant, work: () => Promise<T>): Promise<T> {
    const path = join(this.root, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.slice(0, start) + replacement + text.slice(end));
    try {
      return await work();
    } finally {
      writeFileSync(path, text);
    }
  }

  /** Returns an empty folder in the sandbox. */
  emptyFolder(name: string): string {
    const folder = join(this.root, name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    return folder;
  }

  /** Runs a test; ends it, and the processes in its group, after `timeoutMs`. */
  async run(
    { args }: TestCommand,
    timeoutMs: number,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Run> {
    const startedMs = performance.now();
    const child = spawn(process.execPath, [...args], {
      cwd: this.root,
      env: { ...this.env, ...env },
      stdio: "ignore",
      detached: true,
    });
    this.running = child;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.end();
    }, timeoutMs);
    const [code] = (await once(child, "exit")) as [number | null];
    clearTimeout(timer);
    // Processes that a failed test has left running would slow down the next one.
    this.end();
    this.running = undefined;
    const kind = isLate ? "timeout" : code === 0 ? "passed" : "failed";
    return { kind, ms: performance.now() - startedMs };
  }

  /** Kills the running test and its group. */
  end(): void {
    const { running } = this;
    if (running?.pid === undefined) return;
    try {
      process.kill(-running.pid, "SIGKILL");
    } catch {
      // All processes of the group have ended.
    }
  }

  remove(): void {
    this.end();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}
