import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { packageRoot } from "../../core/process/root.ts";
import { shortLivedFlags } from "./v8-flags.ts";
import { Watchdog } from "./watchdog.ts";

/** A simulated provider for tests. It stays up while gateways in front of it are killed. */
export interface TestSimulator {
  readonly port: number;
  readonly url: string;
  /** Requests and replies, by path; see `Tally`. */
  stats(): Promise<Record<string, Record<string, number>>>;
  /** Deletes tallies and failure keys. */
  reset(): Promise<void>;
  /** Ends the delays and silences of the calls whose directive has this `until`. */
  release(name: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a simulated provider on a free port, in its own process: a busy test does not slow it
 * down, and it ends even if a test forgets it.
 */
export async function startTestSimulator(): Promise<TestSimulator> {
  const program = join(packageRoot, "dist", "test", "support", "provider", "main.js");
  const child = spawn(process.execPath, [...shortLivedFlags(), program, "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const watchdog = new Watchdog();
  watchdog.guard(child);
  const [line] = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  const port = Number(/:(\d+)\s*$/.exec(String(line))?.[1]);
  if (!(port > 0)) {
    await watchdog.stop();
    throw new Error(`the simulator did not start: ${String(line)}`);
  }
  child.unref();
  child.stdout.destroy();
  const url = `http://127.0.0.1:${port}`;
  return {
    port,
    url,
    async stats() {
      const response = await fetch(`${url}/_sim/stats`);
      return (await response.json()) as Record<string, Record<string, number>>;
    },
    async reset() {
      await (await fetch(`${url}/_sim/reset`, { method: "POST" })).arrayBuffer();
    },
    async release(name) {
      await (await fetch(`${url}/_sim/release?name=${name}`, { method: "POST" })).arrayBuffer();
    },
    stop: () => watchdog.stop(),
  };
}

let ofThisProcess: Promise<TestSimulator> | undefined;
let users = 0;

/**
 * The simulated provider of the gateways that this process starts without one of their own: its start takes 0.3 s of
 * processor time. It is reset when no gateway uses it; `stop` gives it back, and it ends with this process.
 */
export async function sharedSimulator(): Promise<TestSimulator> {
  ofThisProcess ??= startTestSimulator();
  const isFirst = users++ === 0;
  const simulator = await ofThisProcess;
  if (isFirst) await simulator.reset();
  let isUsed = true;
  return {
    ...simulator,
    stop() {
      if (isUsed) users--;
      isUsed = false;
      return Promise.resolve();
    },
  };
}
