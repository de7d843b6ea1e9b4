import { spawn } from "node:child_process";
import { once } from "node:events";

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
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, timeoutMs);
  try {
    const [code] = (await once(child, "close")) as [number | null];
    return { code, output };
  } catch (error) {
    return { code: null, output: `cannot start ${file}: ${String(error)}` };
  } finally {
    clearTimeout(timer);
  }
}
