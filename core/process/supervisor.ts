import { type ChildProcess, fork } from "node:child_process";
import { backoffMs } from "./backoff.ts";
import type { Log } from "./log.ts";
import { WorkerRelay } from "./worker-relay.ts";

interface ClusterOptions {
  /** The script that each worker runs. */
  readonly script: string;
  readonly args: readonly string[];
  readonly workers: number;
  readonly log: Log;
}

/** If a worker fails this soon after the start, the config or a store is at fault, so all workers stop. */
const START_MS = 10_000;
const RESTART_MS_MIN = 200;
const RESTART_MS_MAX = 5_000;
/** A crash after this time counts as the first one, so the restart delay starts again at its minimum. */
const SOUND_MS = 30_000;

/**
 * Runs the gateway in several processes that share its port. Resolves with the exit code when all have ended.
 * Restarts a worker that dies; passes SIGTERM, SIGINT and SIGHUP to all. Workers notice when this process dies
 * (`whenOrphaned`), so a kill -9 of it leaves no worker running.
 */
export function superviseWorkers(options: ClusterOptions): Promise<number> {
  const { log } = options;
  const startedMs = performance.now();
  const running = new Map<number, ChildProcess>();
  const failures = new Map<number, number>();
  const relay = new WorkerRelay();
  let restarts: NodeJS.Timeout[] = [];
  let stopping = false;
  let exitCode = 0;

  return new Promise((resolve) => {
    function start(worker: number): void {
      const child = fork(options.script, options.args);
      const bornMs = performance.now();
      running.set(worker, child);
      relay.add(worker, child);
      child.once("error", (error) =>
        log.error({ err: error, worker }, "cannot start or signal a worker"),
      );
      child.once("exit", (code, signal) => {
        running.delete(worker);
        relay.remove(worker);
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
        log.error({ worker, code }, "a worker cannot start; stopping");
        exitCode = 1;
        stop("SIGTERM");
        return finishWhenEmpty();
      }
      const failed = aliveMs > SOUND_MS ? 1 : (failures.get(worker) ?? 0) + 1;
      failures.set(worker, failed);
      const delayMs = backoffMs(failed, RESTART_MS_MIN, RESTART_MS_MAX);
      log.error({ worker, code, signal, delayMs }, "a worker died; restarting it");
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

/** Returns true if this process is a worker of a supervisor. */
export function isWorker(): boolean {
  return process.send !== undefined;
}

/** Calls `callback` once the supervisor of this worker has died. */
export function whenOrphaned(callback: () => void): void {
  process.once("disconnect", callback);
}
