import { type ChildProcess, fork } from "node:child_process";
import { backoffMs } from "./backoff.ts";
import type { Log } from "./log.ts";
import { isTerminalClosing } from "./terminal.ts";
import { withTimeout } from "./timeout.ts";
import { type FromWorker, REPORT_MS, type ToWorker } from "./workers.ts";

interface ClusterOptions {
  readonly script: string;
  readonly args: readonly string[];
  readonly workers: number;
  readonly log: Log;
  /** Time between two questions whether a worker is alive. */
  readonly aliveMs?: number;
}

/** If a worker fails this soon after the start, the config or a store is at fault, so all workers stop. */
const START_MS = 10_000;
const RESTART_MS_MIN = 200;
const RESTART_MS_MAX = 5_000;
/** A crash after this time counts as the first one, so the restart delay starts again at its minimum. */
const SOUND_MS = 30_000;
const ALIVE_MS = 5_000;
/** A worker is killed after so many questions without a reply, which take a minute. */
const UNANSWERED_MAX = 12;

/** Variable in the environment of a worker. */
const WORKER = "TOLLGATE_WORKER";

interface Member {
  readonly child: ChildProcess;
  /** Questions whether it is alive without a reply. Counts no time, so that a machine may sleep. */
  unanswered: number;
  /** Called at its next reply on a topic: with false if it has nothing to report yet. */
  readonly awaited: Map<string, ((isReport: boolean) => void)[]>;
}

/**
 * Runs the gateway in several processes that share its port. Resolves with the exit code when all have ended.
 * Restarts a worker that dies, or whose event loop does not turn for a minute; passes SIGTERM, SIGINT and SIGHUP to all,
 * and reports between workers. Workers notice when this process dies (`whenOrphaned`), so a kill -9 of it leaves no worker
 * running.
 */
export function superviseWorkers(options: ClusterOptions): Promise<number> {
  const { log } = options;
  const startedMs = performance.now();
  const running = new Map<number, Member>();
  /** The last reports of each worker by topic. They outlive it: what it has counted stays counted. */
  const reports = Array.from({ length: options.workers }, () => new Map<string, unknown>());
  const failures = new Map<number, number>();
  const restarts: NodeJS.Timeout[] = [];
  let stopping = false;
  let exitCode = 0;

  return new Promise((resolve) => {
    function start(worker: number): void {
      const env = { ...process.env, [WORKER]: "1" };
      const child = fork(options.script, options.args, { env });
      const bornMs = performance.now();
      const member = { child, unanswered: 0, awaited: new Map() };
      running.set(worker, member);
      const before = reports[worker];
      if (before && before.size > 0)
        send(member, { kind: "before", reports: Object.fromEntries(before) });
      child.on("message", (message: FromWorker) => hear(message, worker, member));
      child.on("error", (error) => {
        log.error({ err: error, worker }, "cannot start or signal a worker");
        // A process that never was does not exit either.
        if (child.pid !== undefined || running.get(worker) !== member) return;
        running.delete(worker);
        ended(worker, null, null, 0);
      });
      child.once("exit", (code, signal) => {
        running.delete(worker);
        ended(worker, code, signal, performance.now() - bornMs);
      });
    }

    function hear(message: FromWorker, worker: number, member: Member): void {
      if (message.kind === "alive") member.unanswered = 0;
      else if (message.kind === "ask") void collect(message.topic, worker, member);
      else {
        // A worker that is still starting has nothing to report.
        const isReport = message.report !== undefined;
        if (isReport) reports[worker]?.set(message.topic, message.report);
        for (const heard of member.awaited.get(message.topic) ?? []) heard(isReport);
        member.awaited.delete(message.topic);
      }
    }

    async function collect(topic: string, worker: number, member: Member): Promise<void> {
      const all = await Promise.all(
        reports.map(async (last, each) => {
          const isOld = !(await hasReported(running.get(each), topic));
          return { worker: each, report: last.get(topic), isOld };
        }),
      );
      send(member, { kind: "reports", topic, reports: { worker, all } });
    }

    function killStuck(): void {
      for (const [worker, member] of running) {
        if (member.unanswered++ < UNANSWERED_MAX) send(member, { kind: "alive?" });
        else {
          log.error({ worker }, "the event loop of a worker does not turn; killing the worker");
          member.child.kill("SIGKILL");
        }
      }
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
        return stop();
      }
      const failed = aliveMs > SOUND_MS ? 1 : (failures.get(worker) ?? 0) + 1;
      failures.set(worker, failed);
      const delayMs = backoffMs(failed, RESTART_MS_MIN, RESTART_MS_MAX);
      log.error({ worker, code, signal, delayMs }, "a worker died; restarting it");
      restarts.push(setTimeout(() => start(worker), delayMs));
    }

    function stop(): void {
      stopping = true;
      for (const restart of restarts) clearTimeout(restart);
      for (const { child } of running.values()) child.kill("SIGTERM");
      finishWhenEmpty();
    }

    function finishWhenEmpty(): void {
      if (running.size > 0) return;
      clearInterval(asking);
      resolve(exitCode);
    }

    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
    process.on("SIGHUP", () => {
      if (isTerminalClosing()) return stop();
      for (const { child } of running.values()) child.kill("SIGHUP");
    });
    const asking = setInterval(killStuck, options.aliveMs ?? ALIVE_MS);
    for (let worker = 0; worker < options.workers; worker += 1) start(worker);
  });
}

/** Asks a worker for a report. Returns false if it does not report in time, has nothing to report, or has died. */
async function hasReported(member: Member | undefined, topic: string): Promise<boolean> {
  if (member === undefined) return false;
  const { awaited } = member;
  const heard = new Promise<boolean>((resolve) => {
    awaited.set(topic, [...(awaited.get(topic) ?? []), resolve]);
  });
  send(member, { kind: "ask", topic });
  return (await withTimeout(heard, REPORT_MS)) === true;
}

/** A worker that has just died is reported by its `exit`. */
function send(member: Member, message: ToWorker): void {
  if (member.child.connected) member.child.send(message, () => {});
}

/**
 * Returns true if this process is a worker of a supervisor. Other programs that start one, such as pm2, may have a channel
 * to it too.
 */
export function isWorker(): boolean {
  return process.env[WORKER] !== undefined && process.send !== undefined;
}

/** Calls `callback` once the supervisor of this worker has died. */
export function whenOrphaned(callback: () => void): void {
  if (process.connected) process.once("disconnect", callback);
  // It died while this worker started.
  else callback();
}
