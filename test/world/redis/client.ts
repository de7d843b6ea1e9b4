import { backoffMs } from "../../../core/process/backoff.ts";
import { RedisAway } from "../../../core/redis/client.ts";
import { SimulatedCommands } from "./commands.ts";
import {
  CLOSED,
  type Connection,
  connect,
  type Line,
  REPLY_TIMEOUT_MS,
  Silence,
  Waiting,
} from "./connection.ts";

export const RECONNECT_MS_MIN = 25;
export const RECONNECT_MS_MAX = 250;
/** How long a client that resends waits before it sends a command again. */
const RESEND_MS = 50;

interface ClientOptions extends Line {
  /**
   * Sends commands without a reply again when their connection has ended. `RedisClient` does not; posts must survive
   * it.
   */
  readonly resends: boolean;
}

/**
 * A client of one Redis, which behaves as `RedisClient` and ioredis do. Commands without a reply fail when their
 * connection ends, whether or not they were carried out. With `resends` they are sent again, and may be carried out
 * twice.
 */
export class SimulatedRedisClient extends SimulatedCommands {
  override readonly isCluster = false;
  private readonly silence: Silence;
  private connection: Connection | undefined;
  private onReady: () => void = () => {};
  private failures = 0;
  private isStopped = false;

  constructor(private readonly options: ClientOptions) {
    super();
    this.silence = new Silence(options.process, () => this.connection);
  }

  override connect(onReady: () => void): void {
    this.onReady = onReady;
    this.tryToConnect();
  }

  override disconnect(): void {
    this.isStopped = true;
    this.connection?.close(CLOSED);
  }

  private tryToConnect(): void {
    connect(this.options, {
      onOpen: (connection) => {
        if (this.isStopped) return connection.close(CLOSED);
        this.failures = 0;
        this.connection = connection;
        this.onReady();
      },
      onFailed: (ms) => {
        if (this.isStopped) return;
        this.failures += 1;
        const waitMs = ms + backoffMs(this.failures, RECONNECT_MS_MIN, RECONNECT_MS_MAX);
        this.options.process.after(waitMs, () => {
          if (!this.isStopped) this.tryToConnect();
        });
      },
      onClosed: (left, reason) => this.closed(left, reason),
    });
  }

  protected override send(name: string, args: readonly string[]): Promise<unknown> {
    const { connection, options } = this;
    if (connection === undefined) return Promise.reject(new RedisAway("reconnecting"));
    if (!options.process.alive) return new Promise(() => {});
    return new Promise((resolve, reject) => {
      const waiting = new Waiting(name, args, resolve, (error) => {
        reject(error);
        // As `reconnectOnError` does: close the connection to a demoted server.
        if (error.message.startsWith("READONLY")) this.connection?.close(CLOSED);
      });
      if (options.resends) options.process.after(REPLY_TIMEOUT_MS, () => this.timeOut(waiting));
      this.write(connection, waiting);
    });
  }

  private write(connection: Connection, waiting: Waiting): void {
    this.silence.watch(connection);
    connection.write(waiting);
  }

  private timeOut(waiting: Waiting): void {
    if (!waiting.isOver) waiting.fail("Command timed out");
  }

  private closed(left: readonly Waiting[], reason: string): void {
    this.connection = undefined;
    for (const waiting of left) {
      if (this.options.resends) this.sendAgain(waiting);
      else waiting.fail(reason);
    }
    if (!this.isStopped) this.tryToConnect();
  }

  private sendAgain(waiting: Waiting): void {
    this.options.process.after(RESEND_MS, () => {
      if (waiting.isOver) return;
      const { connection } = this;
      if (connection === undefined) waiting.fail(CLOSED);
      else this.write(connection, waiting);
    });
  }
}
