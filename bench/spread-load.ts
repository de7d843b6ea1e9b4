import { Connection } from "./load/connection.ts";
import { Counter } from "./load/counter.ts";
import type { Workload } from "./load/job.ts";
import { type Report, requestBytes } from "./load/job.ts";

const TICK_MS = 2;
/** More calls at once to a gateway count as errors. */
const CONNECTIONS_MAX = 500;

/** Calls with keys of many accounts, at a rate, to the gateways in turn: an open loop. */
export class SpreadLoad {
  private readonly idle = new Map<number, Connection[]>();
  private readonly made = new Map<number, number>();
  private counter = new Counter();
  private open = 0;
  private sent = 0;
  private startedAtMs = 0;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(
    private readonly workload: Workload,
    private readonly keys: readonly string[],
    private readonly rate: number,
  ) {}

  /** Starts to call the gateways at these ports. */
  start(ports: readonly number[]): void {
    this.counter = new Counter();
    this.sent = 0;
    this.startedAtMs = performance.now();
    this.timer = setInterval(() => this.sendDue(ports), TICK_MS);
  }

  /** Stops, waits for the replies, and returns what was counted since the start. */
  async end(): Promise<Report> {
    clearInterval(this.timer);
    while (this.open > 0) await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    for (const connections of this.idle.values())
      for (const connection of connections.splice(0)) connection.close();
    this.made.clear();
    return this.counter.report();
  }

  private sendDue(ports: readonly number[]): void {
    const due = Math.floor(((performance.now() - this.startedAtMs) / 1_000) * this.rate);
    for (; this.sent < due; this.sent++) this.send(ports[this.sent % ports.length] ?? 0);
  }

  private send(port: number): void {
    const key = this.keys[Math.floor(Math.random() * this.keys.length)] ?? "";
    const { path, body } = this.workload;
    const request = requestBytes({ port, path, body, headers: { authorization: `Bearer ${key}` } });
    const connection = this.idle.get(port)?.pop() ?? this.connect(port);
    this.open++;
    connection.send(request);
  }

  private connect(port: number): Connection {
    const made = (this.made.get(port) ?? 0) + 1;
    if (made > CONNECTIONS_MAX) throw new Error(`${CONNECTIONS_MAX} calls wait for one gateway`);
    this.made.set(port, made);
    const idle = this.idle.get(port) ?? [];
    this.idle.set(port, idle);
    const server = { port, endsWith: this.workload.endsWith };
    return new Connection(server, (connection, failure) => {
      this.counter.add(connection, failure);
      idle.push(connection);
      this.open--;
    });
  }
}
