import { type ChildProcess, fork } from "node:child_process";
import { backoffMs } from "./backoff.ts";
import type { Log } from "./log.ts";

interface ClusterOptions {
  /** What each worker runs. */
  readonly script: string;
  readonly args: readonly string[];
  readonly workers: number;
  readonly log: Log;
}

/** A worker that ends this soon after the start shows a fault of the config or of a store: the rest stops too. */
const START_MS = 10_000;
const RESTART_MS_MIN = 200;
const RESTART_MS_MAX = 5_000;
/** A worker that has lived this long is restarted at once, as after a first crash. */
const SOUND_MS = 30_000;

/**
 * Runs the gateway in several processes that share its port, and resolves with the exit code when all have
 * ended. One that dies is started again; SIGTERM, SIGINT and SIGHUP go to all. Workers notice when
 * this process is gone (`whenOrphaned`), so a kill -9 of it leaves nobody behind.
 */
export function superviseWorkers(options: ClusterOptions): Promise<number> {
  const { log } = options;
  const startedMs = performance.now();
  const running = new Map<number, ChildProcess>();
  const failures = new Map<number, number>();
  let restarts: NodeJS.Timeout[] = [];
  let stopping = false;
  let exitCode = 0;

  return new Promise((resolve) => {
    function start(worker: number): void {
      const child = fork(options.script, options.args);
      const bornMs = performance.now();
      running.set(worker, child);
      child.once("error", (error) => log.error({ err: error, worker }, "a worker has failed"));
      child.once("exit", (code, signal) => {
        running.delete(worker);
        ended(worker, code, signal, performance.now() - bornMs);
      });
    }

    function ended(
      worker: number,
      code: number | null,
      signal: NodeJS.Signals | null,
      aliveMs: number,
    ): void {
      if (stopping) {
        if (code !== 0) exitCode = 1;
        return finishWhenEmpty();
      }
      if (code !== null && code !== 0 && performance.now() - startedMs < START_MS) {
        log.error({ worker, code }, "a worker cannot start: stopping");
        exitCode = 1;
        stop("SIGTERM");
        return finishWhenEmpty();
      }
      const failed = aliveMs > SOUND_MS ? 1 : (failures.get(worker) ?? 0) + 1;
      failures.set(worker, failed);
      const delayMs = backoffMs(failed, RESTART_MS_MIN, RESTART_MS_MAX);
      log.error({ worker, code, signal, delayMs }, "a worker has ended; it is started again");
      restarts.push(setTimeout(() => start(worker), delayMs));
    }

    function stop(signal: NodeJS.Signals): void {
      stopping = true;
      for (const restart of restarts) clearTimeout(restart);
      restarts = [];
      for (const child of running.values()) child.kill(signal);
    }

    function finishWhenEmpty(): void {
      if (running.size === 0) resolve(exitCode);
    }

    const onStop = () => {
      stop("SIGTERM");
      finishWhenEmpty();
    };
    process.on("SIGTERM", onStop);
    process.on("SIGINT", onStop);
    process.on("SIGHUP", () => {
      for (const child of running.values()) child.kill("SIGHUP");
    });
    for (let worker = 0; worker < options.workers; worker += 1) start(worker);
  });
}

/** Whether this process is a worker of a supervisor. */
export function isWorker(): boolean {
  return process.send !== undefined;
}

/** Calls back when the supervisor of this worker has died. */
export function whenOrphaned(callback: () => void): void {
  process.once("disconnect", callback);
}
