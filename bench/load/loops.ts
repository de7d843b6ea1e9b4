import { Connection } from "./connection.ts";
import { Counter } from "./counter.ts";
import { type Job, type Report, requestBytes } from "./job.ts";

/**
 * Maximum errors of a job: stops a busy loop against a server that fails every call immediately.
 */
const ERRORS_MAX = 1_000;
const TICK_MS = 1;

/** Keeps every connection busy until the time is over, then waits for the open calls. */
export function closedLoop(job: Job): Promise<Report> {
  const request = requestBytes(job);
  const counter = new Counter();
  const deadline = performance.now() + job.seconds * 1000;
  let open = job.connections;
  return new Promise((resolve) => {
    const connections = Array.from(
      { length: job.connections },
      () =>
        new Connection(job.port, job.endsWith, (connection, reply, failure) => {
          counter.add(reply, connection.startedAtMs, failure);
          if (performance.now() < deadline && counter.errors < ERRORS_MAX) {
            return connection.send(request);
          }
          if (--open > 0) return;
          for (const each of connections) each.close();
          resolve(counter.report());
        }),
    );
    for (const connection of connections) connection.send(request);
  });
}

/**
 * Sends calls at a rate, independent of earlier replies. Sends due calls every millisecond.
 * Latencies start at the time of sending, since no call waits for another's reply. If every
 * connection is busy, the call counts as an error.
 */
export function openLoop(job: Job & { readonly rate: number }): Promise<Report> {
  const request = requestBytes(job);
  const counter = new Counter();
  const idle: Connection[] = [];
  let made = 0;
  let sent = 0;
  let open = 0;
  let refused = 0;
  return new Promise((resolve) => {
    const startedAt = performance.now();
    const total = Math.round(job.rate * job.seconds);
    const finish = () => {
      for (const connection of idle) connection.close();
      const report = counter.report();
      const firstError = refused > 0 ? "every connection was busy" : report.firstError;
      resolve({ ...report, errors: report.errors + refused, firstError });
    };
    const onReply = (
      connection: Connection,
      reply: Connection["parser"],
      failure: string | undefined,
    ) => {
      counter.add(reply, connection.startedAtMs, failure);
      idle.push(connection);
      if (--open === 0 && sent === total) finish();
    };
    const timer = setInterval(() => {
      const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1000) * job.rate));
      for (; sent < due; sent++) {
        let connection = idle.pop();
        if (!connection && made < job.connections) {
          connection = new Connection(job.port, job.endsWith, onReply);
          made++;
        }
        if (connection) {
          open++;
          connection.send(request);
        } else refused++;
      }
      if (sent < total) return;
      clearInterval(timer);
      if (open === 0) finish();
    }, TICK_MS);
  });
}

/** Opens a stream on each connection and resolves once all have begun. `release` closes them. */
export async function holdOpen(job: Job): Promise<{ report: Report; release: () => void }> {
  const request = requestBytes(job);
  const counter = new Counter();
  const connections: Connection[] = [];
  for (let at = 0; at < job.connections; at++) {
    const connection = new Connection(job.port, job.endsWith, (ended, reply, failure) => {
      counter.add(reply, ended.startedAtMs, failure ?? "the stream has ended");
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
  counter.calls = connections.filter((each) => each.parser.status === 200).length;
  const release = () => {
    for (const each of connections) each.close();
  };
  return { report: counter.report(), release };
}
