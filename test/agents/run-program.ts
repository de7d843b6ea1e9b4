import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";

const OUTPUT_CHARACTERS_MAX = 100_000;

/** A program, and how long it may take. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** Variables that are added to the environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** How a program ended. */
export interface Ending {
  /** The exit code; null if it took too long or could not be started. */
  readonly code: number | null;
  /** The end of what it wrote to stdout and stderr. */
  readonly output: string;
}

/** Runs a program without input. Kills it, and all that it started, when its time is over. */
export async function runProgram({ file, args, folder, env, timeoutMs }: Program): Promise<Ending> {
  const child = spawn(file, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A process group of its own, so that its children end with it.
    detached: true,
  });
  let output = "";
  const add = (text: string) => {
    output = (output + text).slice(-OUTPUT_CHARACTERS_MAX);
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", add);
  }
  const timer = setTimeout(() => {
    add(`\nkilled after ${timeoutMs} ms`);
    endGroup(child.pid);
  }, timeoutMs);
  try {
    const [code] = (await once(child, "close")) as [number | null];
    return { code, output };
  } catch (error) {
    return { code: null, output: `cannot start ${file}: ${String(error)}` };
  } finally {
    clearTimeout(timer);
    endGroup(child.pid);
    endThoseIn(folder);
  }
}

/** Ends what has left the group and works in a folder: cline starts a server of its own there. Linux only. */
function endThoseIn(folder: string): void {
  if (!existsSync("/proc")) return;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (command.split("\0").includes(folder)) process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended, or is another user's.
    }
  }
}

/** Ends the program, and all that it has started and left running. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // All have ended.
  }
}
