import { isObject } from "./json.ts";

/** How long a worker may take to report before its last report is taken. */
const REPORT_MS = 1_000;

/** The report of another worker. */
interface WorkerReport {
  /** The number of the worker, counted from 0. */
  readonly worker: number;
  /** The report as JSON; undefined if the worker has never made one. */
  readonly report: unknown;
  /** True if the worker did not report in time, so this is its last report, if there is one. */
  readonly isOld: boolean;
}

/** The reports of all other workers. */
interface WorkerReports {
  /** The number of the worker that has asked. */
  readonly worker: number;
  readonly others: readonly WorkerReport[];
}

/** A message of a worker to its supervisor. `to`: the number of the worker that has asked. */
export type FromWorker =
  | { readonly kind: "alive" }
  | { readonly kind: "ask"; readonly topic: string; readonly id: number }
  | {
      readonly kind: "report";
      readonly topic: string;
      readonly to: number;
      readonly id: number;
      readonly report: unknown;
    };

/** A message of a supervisor to a worker. */
export type ToWorker =
  | { readonly kind: "alive?" }
  | { readonly kind: "ask"; readonly topic: string; readonly id: number; readonly from: number }
  | {
      readonly kind: "asked";
      readonly id: number;
      readonly worker: number;
      /** With the last report of each to any worker. */
      readonly others: readonly { readonly worker: number; readonly report: unknown }[];
    }
  | {
      readonly kind: "report";
      readonly id: number;
      readonly worker: number;
      readonly report: unknown;
    };

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

/** The other workers, by way of the supervisor, which also asks whether this one is alive. */
export class SupervisedWorkers implements Workers {
  private readonly makers = new Map<string, () => unknown>();
  private readonly asked = new Map<string, Promise<WorkerReports | undefined>>();
  private readonly waiting = new Map<number, (message: ToWorker) => void>();
  private nextId = 1;

  constructor() {
    process.on("message", (given: unknown) => {
      if (!isObject(given)) return;
      const message = given as ToWorker;
      if (message.kind === "alive?") send({ kind: "alive" });
      else if (message.kind === "ask") void this.make(message);
      else this.waiting.get(message.id)?.(message);
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
    const heard = new Map<number, unknown>();
    let asked: Extract<ToWorker, { kind: "asked" }> | undefined;
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(late);
        this.waiting.delete(id);
        if (!asked) return resolve(undefined);
        const { worker, others } = asked;
        const reports = others.map((other) =>
          heard.has(other.worker)
            ? { worker: other.worker, report: heard.get(other.worker), isOld: false }
            : { ...other, isOld: true },
        );
        resolve({ worker, others: reports });
      };
      const late = setTimeout(finish, REPORT_MS);
      this.waiting.set(id, (message) => {
        if (message.kind === "asked") asked = message;
        if (message.kind === "report") heard.set(message.worker, message.report);
        if (asked?.others.every(({ worker }) => heard.has(worker))) finish();
      });
      send({ kind: "ask", topic, id });
    });
  }

  private async make({ topic, id, from }: Extract<ToWorker, { kind: "ask" }>): Promise<void> {
    try {
      send({ kind: "report", topic, to: from, id, report: await this.makers.get(topic)?.() });
    } catch {
      // This worker counts as stuck: the others take its last report.
    }
  }
}

/** Without a supervisor, the process is about to end. */
function send(message: FromWorker): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
