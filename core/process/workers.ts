import { arrayOf, isObject } from "./json.ts";

/** How long the supervisor may take to reply. It waits for its workers for a second at most. */
const REPORTS_MS = 3_000;

/** The report of another worker. */
export interface WorkerReport {
  /** The number of the worker, counted from 0. */
  readonly worker: number;
  /** The report as JSON; undefined if the worker has never made one. */
  readonly report: unknown;
  /** True if the worker did not report in time, so this is its last report, if there is one. */
  readonly isOld: boolean;
}

/** The reports of all other workers. */
export interface WorkerReports {
  /** The number of the worker that has asked. */
  readonly worker: number;
  readonly others: readonly WorkerReport[];
}

/** A question of a worker to the others. */
export interface Question {
  readonly kind: "ask";
  readonly topic: string;
  readonly id: number;
}

/** A report of a worker that was asked. */
interface Report {
  readonly kind: "report";
  readonly topic: string;
  readonly report: unknown;
}

/** The other processes that share the port of this gateway, if `listen.workers` is above 1. */
export interface Workers {
  /** Sets the function that makes this worker's report on a topic, as JSON. Replaces the one before. */
  report(topic: string, make: () => unknown): void;
  /** Asks the other workers. Takes a second if one is stuck. Resolves with undefined if there are no workers. */
  ask(topic: string): Promise<WorkerReports | undefined>;
}

/** The workers of a gateway of one process: there are none. */
export const noWorkers: Workers = {
  report() {},
  ask: () => Promise.resolve(undefined),
};

/** The other workers, by way of the supervisor. */
export class SupervisedWorkers implements Workers {
  private readonly makers = new Map<string, () => unknown>();
  private readonly asked = new Map<string, Promise<WorkerReports | undefined>>();
  private readonly waiting = new Map<number, (reports: WorkerReports) => void>();
  private nextId = 1;

  constructor() {
    process.on("message", (message: unknown) => {
      if (!isObject(message)) return;
      const { kind, topic, id, worker, others } = message;
      if (kind === "ask" && typeof topic === "string") void this.make(topic);
      else if (kind === "reports" && typeof id === "number" && typeof worker === "number") {
        this.waiting.get(id)?.({ worker, others: arrayOf(others) as readonly WorkerReport[] });
      }
    });
  }

  report(topic: string, make: () => unknown): void {
    this.makers.set(topic, make);
  }

  /** Callers that ask at the same time share a reply, so that a flood of requests makes no flood of messages. */
  ask(topic: string): Promise<WorkerReports | undefined> {
    const before = this.asked.get(topic);
    if (before) return before;
    const asking = this.askNow(topic).finally(() => this.asked.delete(topic));
    this.asked.set(topic, asking);
    return asking;
  }

  private askNow(topic: string): Promise<WorkerReports | undefined> {
    const id = this.nextId++;
    return new Promise<WorkerReports | undefined>((resolve) => {
      const late = setTimeout(() => resolve(undefined), REPORTS_MS);
      this.waiting.set(id, (reports) => {
        clearTimeout(late);
        resolve(reports);
      });
      send({ kind: "ask", topic, id });
    }).finally(() => this.waiting.delete(id));
  }

  private async make(topic: string): Promise<void> {
    try {
      send({ kind: "report", topic, report: await this.makers.get(topic)?.() });
    } catch {
      // This worker counts as stuck: the others get its last report.
    }
  }
}

/** Without a supervisor, the process is about to end. */
function send(message: Question | Report): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
