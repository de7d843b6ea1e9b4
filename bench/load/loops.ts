import { Connection } from "./connection.ts";
import { Counter } from "./counter.ts";
import { type Job, type Report, requestBytes, type Schedule } from "./job.ts";
import { dueTimes } from "./schedule.ts";

/** The pause after a failed call: stops a busy loop against a server that fails every call immediately. */
const PAUSE_MS = 10;
const TICK_MS = 1;
/**
 * Timers are no finer than this. A call that leaves within it counts from when it left, else times below a
 * millisecond would be those of the timer.
 */
const TIMER_MS = 2;
const SWEEP_MS = 100;
const TIMEOUT_SECONDS = 60;

/** A loop that runs. */
export interface Loop {
  readonly counter: Counter;
  readonly report: Promise<Report>;
  /** Calls that wait for their reply or for a connection. */
  waiting(): number;
  /** Sends no more calls, and aborts those that wait. */
  stop(): void;
}

/** Keeps every connection busy until the time is over, then waits for the open calls. */
export function closedLoop(job: Job): Promise<Report> {
  return startClosedLoop(job).report;
}

/** As `closedLoop`, with a hand on it. */
export function startClosedLoop(job: Job): Loop {
  const request = requestBytes(job);
  const deadline = performance.now() + job.seconds * 1000;
  return start(job, (loop) => {
    const next = (connection: Connection) => {
      if (loop.stopped || performance.now() >= deadline) loop.leave(connection);
      else loop.send(connection, request);
    };
    for (let made = 0; made < job.connections; made++) {
      const connection = loop.connect((failure) => {
        if (failure === undefined) return next(connection);
        // It counts as open until it has paused, so that the loop does not end without it.
        loop.open.add(connection);
        setTimeout(() => {
          loop.open.delete(connection);
          next(connection);
        }, PAUSE_MS);
      });
      loop.send(connection, request);
    }
  });
}

/**
 * Sends calls at a rate, independent of earlier replies. Times start when a call was due, so a
 * call that waits because every connection is busy counts with its wait.
 */
export function openLoop(job: Job & { readonly rate: number | Schedule }): Promise<Report> {
  return startOpenLoop(job).report;
}

/** As `openLoop`, with a hand on it. */
export function startOpenLoop(job: Job & { readonly rate: number | Schedule }): Loop {
  const { rate, seconds, connections } = job;
  const request = requestBytes(job);
  const { calls, dueAtMs } = dueTimes(
    typeof rate === "number" ? [{ from: rate, to: rate, seconds }] : rate,
  );
  const startedAtMs = performance.now();
  const idle: Connection[] = [];
  let made = 0;
  let sent = 0;
  return start(job, (loop) => {
    const isOver = () => loop.stopped || sent === calls;
    const connect = () => {
      made++;
      const connection = loop.connect(() => {
        const due = loop.nextInLine();
        if (due !== undefined) return loop.send(connection, request, due);
        idle.push(connection);
        if (isOver() && loop.open.size === 0) loop.end();
      });
      return connection;
    };
    const sendDue = (due: number) => {
      const connection = idle.pop() ?? (made < connections ? connect() : undefined);
      if (!connection) return loop.waitInLine(due);
      const lateMs = performance.now() - due;
      loop.counter.addLate(lateMs);
      loop.send(connection, request, lateMs <= TIMER_MS ? due + lateMs : due);
    };
    const timer = setInterval(() => {
      const nowMs = performance.now() - startedAtMs;
      for (; !isOver() && dueAtMs(sent) <= nowMs; sent++) sendDue(startedAtMs + dueAtMs(sent));
      if (!isOver()) return;
      clearInterval(timer);
      if (loop.open.size === 0) loop.end();
    }, TICK_MS);
  });
}

/** The calls of one loop: those that are open, and those that wait for a connection. */
class Calls {
  readonly counter = new Counter();
  readonly open = new Set<Connection>();
  stopped = false;
  private readonly connections: Connection[] = [];
  private readonly timer: NodeJS.Timeout;
  /** Due times of the calls that wait for a connection; those before `head` have left. */
  private line: number[] = [];
  private head = 0;

  constructor(
    private readonly job: Job,
    private readonly resolve: (report: Report) => void,
  ) {
    this.timer = setInterval(() => this.sweep(), SWEEP_MS);
  }

  get waiting(): number {
    return this.open.size + this.line.length - this.head;
  }

  connect(onReply: (failure: string | undefined) => void): Connection {
    const connection = new Connection(this.job, (_, failure) => {
      this.open.delete(connection);
      this.counter.add(connection, failure ?? this.lateness(connection));
      onReply(failure);
    });
    this.connections.push(connection);
    return connection;
  }

  send(connection: Connection, request: Buffer, dueAtMs?: number): void {
    this.open.add(connection);
    connection.send(request, dueAtMs);
  }

  waitInLine(dueAtMs: number): void {
    this.counter.queued++;
    this.line.push(dueAtMs);
  }

  /** Returns the due time of the call that has waited longest. */
  nextInLine(): number | undefined {
    if (this.head === this.line.length) return undefined;
    const due = this.line[this.head++];
    if (this.head === this.line.length) {
      this.line = [];
      this.head = 0;
    }
    return due;
  }

  /** The connection sends no more. */
  leave(connection: Connection): void {
    connection.close();
    if (this.open.size === 0) this.end();
  }

  stop(): void {
    this.stopped = true;
    this.end({ unfinished: this.waiting, sent: this.open.size });
  }

  end(left?: { readonly unfinished: number; readonly sent: number }): void {
    clearInterval(this.timer);
    for (const each of this.connections) each.close();
    this.resolve(this.counter.report(left));
  }

  /** The earliest due time that is not too late for a reply now. */
  private get latest(): number {
    return performance.now() - this.timeoutSeconds * 1_000;
  }

  private get timeoutSeconds(): number {
    return this.job.timeoutSeconds ?? TIMEOUT_SECONDS;
  }

  /** Returns the failure of a whole reply that came too late. */
  private lateness({ dueAtMs }: Connection): string | undefined {
    return dueAtMs < this.latest ? `HTTP 200, but not within ${this.timeoutSeconds} s` : undefined;
  }

  private sweep(): void {
    const { timeoutSeconds, latest } = this;
    while (this.head < this.line.length && this.line[this.head]! < latest) {
      this.nextInLine();
      this.counter.addFailure(`no connection was free within ${timeoutSeconds} s`, "");
    }
    for (const each of [...this.open]) {
      if (each.dueAtMs < latest) each.fail(`no whole reply within ${timeoutSeconds} s`);
    }
  }
}

function start(job: Job, run: (calls: Calls) => void): Loop {
  let calls!: Calls;
  const report = new Promise<Report>((resolve) => {
    calls = new Calls(job, resolve);
  });
  run(calls);
  return {
    counter: calls.counter,
    report,
    waiting: () => calls.waiting,
    stop: () => calls.stop(),
  };
}

/** Opens a stream on each connection and resolves once all have begun. `release` closes them. */
export async function holdOpen(job: Job): Promise<{ report: Report; release: () => void }> {
  const request = requestBytes(job);
  const counter = new Counter();
  const connections: Connection[] = [];
  for (let at = 0; at < job.connections; at++) {
    const connection = new Connection(job, (ended, failure) => {
      counter.add(ended, failure ?? "the stream has ended");
    });
    connections.push(connection);
    connection.send(request);
    // Opens in batches: all at once would overflow the accept queue of the server.
    if (at % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const deadline = performance.now() + job.seconds * 1000;
  while (connections.some((each) => !each.began) && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const calls = connections.filter((each) => each.parser.status === 200).length;
  const release = () => {
    for (const each of connections) each.close();
  };
  return { report: { ...counter.report(), calls }, release };
}
