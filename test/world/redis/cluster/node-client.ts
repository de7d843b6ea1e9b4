import {
  CLOSED,
  type Connection,
  connect,
  type Line,
  REPLY_TIMEOUT_MS,
  Silence,
  Waiting,
} from "../connection.ts";

/**
 * The connection to one node, as ioredis 6.0.0 keeps it in the pool of a `Cluster`. It connects with its first command, and
 * never again: the pool then makes another one.
 */
export class NodeClient {
  status: "wait" | "connecting" | "ready" | "end" = "wait";
  private readonly silence: Silence;
  /** Sent once it is connected, even those that have failed since: ioredis does not take them back. */
  private readonly queued: Waiting[] = [];
  private connection: Connection | undefined;

  constructor(
    readonly address: string,
    /** True if the table of slots last said so. */
    public isReplica: boolean,
    private readonly line: Line,
    private readonly onEnd: () => void,
  ) {
    this.silence = new Silence(line.process, () => this.connection);
  }

  send(waiting: Waiting): void {
    if (this.status === "end") return waiting.fail(CLOSED);
    if (this.connection) return this.write(this.connection, waiting);
    this.queued.push(waiting);
    this.line.process.after(REPLY_TIMEOUT_MS, () => {
      if (!waiting.isOver) waiting.fail("Command timed out");
    });
    if (this.status === "wait") this.open();
  }

  end(): void {
    if (this.status === "end") return;
    this.status = "end";
    this.connection?.close(CLOSED);
    for (const waiting of this.queued.splice(0)) if (!waiting.isOver) waiting.fail(CLOSED);
    this.onEnd();
  }

  private open(): void {
    this.status = "connecting";
    connect(this.line, {
      onOpen: (connection) => {
        if (this.status === "end") return connection.close(CLOSED);
        this.status = "ready";
        this.connection = connection;
        for (const waiting of this.queued.splice(0)) this.write(connection, waiting);
      },
      onFailed: (ms) => this.line.process.after(ms, () => this.end()),
      onClosed: (left, reason) => {
        this.connection = undefined;
        for (const waiting of left) if (!waiting.isOver) waiting.fail(reason);
        this.end();
      },
    });
  }

  private write(connection: Connection, waiting: Waiting): void {
    this.silence.watch(connection);
    connection.write(waiting);
  }
}

/** Sends one command over a connection of its own, as ioredis reads the table of slots. Resolves to undefined if it fails. */
export function askOnce(line: Line, name: string, args: readonly string[]): Promise<unknown> {
  return new Promise((resolve) => {
    const none = () => resolve(undefined);
    const node = new NodeClient("", false, line, none);
    const over = (reply: unknown) => {
      resolve(reply);
      node.end();
    };
    node.send(new Waiting(name, args, over, () => over(undefined)));
  });
}
