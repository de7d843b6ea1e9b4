import type { ChildProcess } from "node:child_process";
import { isObject } from "./json.ts";
import type { Question, WorkerReport, WorkerReports } from "./workers.ts";

/** How long a worker may take to report before its last report is taken. */
const REPORT_MS = 1_000;

/** The reports that go to the worker that has asked. */
interface Reports extends WorkerReports {
  readonly kind: "reports";
  readonly id: number;
}

interface Member {
  readonly child: ChildProcess;
  /** The last report by topic. */
  readonly last: Map<string, unknown>;
  /** Callbacks that wait for the next report on a topic. Only the first question of a topic is sent. */
  readonly waiting: Map<string, (() => void)[]>;
}

/** Passes questions and reports between the workers of a supervisor, which know nothing of each other. */
export class WorkerRelay {
  private readonly members = new Map<number, Member>();

  add(worker: number, child: ChildProcess): void {
    const member: Member = { child, last: new Map(), waiting: new Map() };
    this.members.set(worker, member);
    child.on("message", (message: unknown) => {
      if (!isObject(message)) return;
      const { kind, topic, id, report } = message;
      if (typeof topic !== "string") return;
      if (kind === "report") heard(member, topic, report);
      else if (kind === "ask" && typeof id === "number") void this.ask(worker, topic, id);
    });
  }

  remove(worker: number): void {
    const member = this.members.get(worker);
    this.members.delete(worker);
    for (const waiting of member?.waiting.values() ?? []) for (const over of waiting) over();
  }

  private async ask(asking: number, topic: string, id: number): Promise<void> {
    const asked = [...this.members].filter(([worker]) => worker !== asking);
    const others = await Promise.all(
      asked.map(async ([worker, member]): Promise<WorkerReport> => {
        const isOld = !(await reported(member, topic));
        return { worker, report: member.last.get(topic), isOld };
      }),
    );
    // Workers that have ended since have nothing to add.
    const living = others.filter(({ worker }) => this.members.has(worker));
    const reports: Reports = { kind: "reports", id, worker: asking, others: living };
    send(this.members.get(asking)?.child, reports);
  }
}

/** Resolves with false if the worker does not report in time. */
function reported(member: Member, topic: string): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(false), REPORT_MS);
    const onReport = () => {
      clearTimeout(late);
      resolve(true);
    };
    const waiting = member.waiting.get(topic);
    // A worker that is stuck gets no second question: they would pile up.
    if (waiting) return void waiting.push(onReport);
    member.waiting.set(topic, [onReport]);
    const question: Question = { kind: "ask", topic, id: 0 };
    send(member.child, question);
  });
}

function heard(member: Member, topic: string, report: unknown): void {
  member.last.set(topic, report);
  const waiting = member.waiting.get(topic) ?? [];
  member.waiting.delete(topic);
  for (const onReport of waiting) onReport();
}

/** A worker that has just died is reported by its `exit`. */
function send(child: ChildProcess | undefined, message: Question | Reports): void {
  if (child?.connected) child.send(message, () => {});
}
