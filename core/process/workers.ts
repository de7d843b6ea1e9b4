import { isObject } from "./json.ts";
import { TIMED_OUT, withTimeout } from "./timeout.ts";

/** How long a worker may take to report before its last report is taken. */
export const REPORT_MS = 1_000;

interface WorkerReport {
  /** The number of the worker, counted from 0. */
  readonly worker: number;
  /** The report as JSON; undefined if the worker has never made one. */
  readonly report: unknown;
  /** True if the worker did not report in time, is still starting, or has died: then this is its last report, if there is one. */
  readonly isOld: boolean;
}

interface WorkerReports {
  /** The worker that has asked. */
  readonly worker: number;
  /** Those of all workers, this one too. */
  readonly all: readonly WorkerReport[];
}

/** A message of a worker to its supervisor. `ask`: it wants the reports of all on a topic. */
export type FromWorker =
  | { readonly kind: "alive" }
  | { readonly kind: "ask"; readonly topic: string }
  | { readonly kind: "report"; readonly topic: string; readonly report: unknown };

/**
 * A message of a supervisor to a worker. `before`: the last reports, by topic, of the worker whose place it takes. `ask`: it wants the
 * worker's report on a topic.
 */
export type ToWorker =
  | { readonly kind: "before"; readonly reports: Readonly<Record<string, unknown>> }
  | { readonly kind: "alive?" }
  | { readonly kind: "ask"; readonly topic: string }
  | { readonly kind: "reports"; readonly topic: string; readonly reports: WorkerReports };

/** The other processes that share the port of this gateway, if `listen.workers` is above 1. */
export interface Workers {
  /**
   * Sets the function that makes this worker's report on a topic, as JSON. Replaces the one before. It gets the last report of a
   * worker that has died, if this one takes its place.
   */
  report(topic: string, make: (before: unknown) => unknown): void;
  /**
   * Asks all workers. Takes a second if one is stuck. Resolves with undefined if there are no workers; rejects if the supervisor is
   * stuck.
   */
  ask(topic: string): Promise<WorkerReports | undefined>;
}

/** The workers of a gateway of one process: there are none. */
export const noWorkers: Workers = {
  report() {},
  ask: () => Promise.resolve(undefined),
};

interface Asked {
  readonly reports: Promise<WorkerReports>;
  heard(reports: WorkerReports): void;
}

/** The other workers, by way of the supervisor, which also asks whether this one is alive. */
export class SupervisedWorkers implements Workers {
  private readonly makers = new Map<string, (before: unknown) => unknown>();
  private before: Readonly<Record<string, unknown>> = {};
  private readonly asked = new Map<string, Asked>();

  constructor() {
    process.on("message", (given: unknown) => {
      if (!isObject(given)) return;
      const message = given as ToWorker;
      if (message.kind === "alive?") send({ kind: "alive" });
      else if (message.kind === "before") this.before = message.reports;
      else if (message.kind === "ask") void this.make(message.topic);
      else this.asked.get(message.topic)?.heard(message.reports);
    });
  }

  report(topic: string, make: (before: unknown) => unknown): void {
    this.makers.set(topic, make);
  }

  /** Callers that ask at the same time share a reply, so that a flood of requests makes no flood of messages. */
  ask(topic: string): Promise<WorkerReports> {
    const asked = this.asked.get(topic) ?? this.askNow(topic);
    this.asked.set(topic, asked);
    return asked.reports;
  }

  private askNow(topic: string): Asked {
    let heard: Asked["heard"] = () => {};
    const reply = new Promise<WorkerReports>((resolve) => {
      heard = resolve;
    });
    send({ kind: "ask", topic });
    // The supervisor waits for the others that long. A late reply means that it is stuck itself.
    const reports = withTimeout(reply, 2 * REPORT_MS).then((found) => {
      this.asked.delete(topic);
      if (found === TIMED_OUT) throw new Error("the supervisor of the workers does not reply");
      return found;
    });
    return { reports, heard };
  }

  private async make(topic: string): Promise<void> {
    try {
      send({ kind: "report", topic, report: await this.makers.get(topic)?.(this.before[topic]) });
    } catch {
      // This worker counts as stuck: the others take its last report.
    }
  }
}

/** Without a supervisor, the process is about to end. */
function send(message: FromWorker): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
