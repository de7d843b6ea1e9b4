import { backoffMs } from "../../../core/process/backoff.ts";
import { isUnknownScript, RedisAway, type RedisCommands } from "../../../core/redis/client.ts";
import type { Script } from "../../../core/redis/script.ts";
import type { Random } from "../../support/random.ts";
import type { SimulatedProcess } from "../process.ts";
import type { Scheduler } from "../scheduler.ts";
import type { RedisReply } from "./lua.ts";
import type { RedisServer } from "./server.ts";

const LATENCY_MS_MAX = 1.5;
const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS_MIN = 25;
const RECONNECT_MS_MAX = 250;
const REPLY_TIMEOUT_MS = 450;
/** How long a client that resends waits before it sends a command again. */
const RESEND_MS = 50;
/** Silence is counted in this many ticks of the process's own loop, as `core/redis/reply-timeout.ts` does. */
const TICKS = 9;

/** A command whose reply is due. */
class Waiting {
  readonly name: string;
  readonly args: readonly string[];
  readonly resolve: (reply: RedisReply) => void;
  readonly reject: (error: Error) => void;
  isOver = false;

  constructor(
    name: string,
    args: readonly string[],
    resolve: (reply: RedisReply) => void,
    reject: (error: Error) => void,
  ) {
    this.name = name;
    this.args = args;
    this.resolve = resolve;
    this.reject = reject;
  }

  fail(reason: string): void {
    this.isOver = true;
    this.reject(new Error(reason));
  }
}

/** One connection. Replies arrive in the order of their commands, until either side closes it. */
class Connection {
  readonly waiting: Waiting[] = [];
  isOpen = true;
  /** True after a lost reply: no later reply arrives before it. */
  isMute = false;
  silentTicks = 0;
  sentUntilMs = 0;
  repliedUntilMs = 0;
}

interface ClientOptions {
  readonly server: RedisServer;
  readonly process: SimulatedProcess;
  readonly scheduler: Scheduler;
  readonly random: Random;
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
export class SimulatedRedisClient implements RedisCommands {
  readonly isCluster = false;
  private readonly options: ClientOptions;
  private connection: Connection | undefined;
  private onReady: () => void = () => {};
  private failures = 0;
  private isStopped = false;
  private isTicking = false;

  constructor(options: ClientOptions) {
    this.options = options;
  }

  connect(onReady: () => void): void {
    this.onReady = onReady;
    this.tryToConnect();
  }

  disconnect(): void {
    this.isStopped = true;
    if (this.connection) this.close(this.connection, "Connection is closed.");
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send("EVALSHA", [sha, String(keys.length), ...keys, ...args]);
  }

  load(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send("EVAL", [script.source, String(keys.length), ...keys, ...args]);
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await this.evalsha(script.sha, keys, args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return await this.load(script, keys, args);
    }
  }

  call(name: string, ...args: string[]): Promise<unknown> {
    return this.send(name, args);
  }

  private tryToConnect(): void {
    const { server, process } = this.options;
    const again = (ms: number) => {
      this.failures += 1;
      const waitMs = ms + backoffMs(this.failures, RECONNECT_MS_MIN, RECONNECT_MS_MAX);
      process.after(waitMs, () => {
        if (!this.isStopped) this.tryToConnect();
      });
    };
    process.receive(this.latencyMs(), "redis connects", () => {
      if (this.isStopped) return;
      if (!server.up) return again(0);
      if (server.frozen) return again(CONNECT_TIMEOUT_MS);
      this.failures = 0;
      const connection = new Connection();
      this.connection = connection;
      const forget = server.accept(() => {
        forget();
        connection.isOpen = false;
        process.receive(this.latencyMs(), "redis closed", () => {
          this.close(connection, "Connection is closed.");
        });
      });
      process.onDeath(() => {
        forget();
        connection.isOpen = false;
      });
      this.onReady();
    });
  }

  private send(name: string, args: readonly string[]): Promise<unknown> {
    const { connection, options } = this;
    if (connection === undefined) return Promise.reject(new RedisAway("reconnecting"));
    if (!options.process.alive) return new Promise(() => {});
    return new Promise((resolve, reject) => {
      const waiting = new Waiting(name, args, resolve, reject);
      if (options.resends) options.process.after(REPLY_TIMEOUT_MS, () => this.timeOut(waiting));
      this.write(connection, waiting);
    });
  }

  private write(connection: Connection, waiting: Waiting): void {
    connection.waiting.push(waiting);
    this.tick(connection);
    const { scheduler, server } = this.options;
    const atMs = Math.max(connection.sentUntilMs, scheduler.nowMs + this.latencyMs());
    connection.sentUntilMs = atMs;
    scheduler.after(atMs - scheduler.nowMs, "redis gets", () => {
      // Commands that the server had not read when the connection was cut do not arrive.
      if (connection.isOpen) server.serve(() => this.execute(connection, waiting));
    });
  }

  private timeOut(waiting: Waiting): void {
    if (!waiting.isOver) waiting.fail("Command timed out");
  }

  private execute(connection: Connection, { name, args }: Waiting): void {
    if (!connection.isOpen) return;
    const { server, scheduler, process } = this.options;
    let reply: RedisReply | Error;
    try {
      reply = server.execute(name, args);
    } catch (error) {
      reply = error instanceof Error ? error : new Error(String(error));
    }
    if (server.losesReplies) connection.isMute = true;
    if (connection.isMute) return;
    const atMs = Math.max(connection.repliedUntilMs, scheduler.nowMs + this.latencyMs());
    connection.repliedUntilMs = atMs;
    process.receive(atMs - scheduler.nowMs, "redis replies", () => {
      if (connection === this.connection) this.hear(connection, reply);
    });
  }

  private hear(connection: Connection, reply: RedisReply | Error): void {
    connection.silentTicks = 0;
    const first = connection.waiting.shift();
    if (first === undefined || first.isOver) return;
    first.isOver = true;
    if (!(reply instanceof Error)) return first.resolve(reply);
    first.reject(reply);
    // As `reconnectOnError` does: close the connection to a demoted server.
    if (reply.message.startsWith("READONLY")) this.close(connection, "Connection is closed.");
  }

  /** Closes a connection with outstanding replies and no data. */
  private tick(connection: Connection): void {
    if (this.isTicking) return;
    this.isTicking = true;
    this.options.process.after(REPLY_TIMEOUT_MS / TICKS, () => {
      this.isTicking = false;
      const { connection: current } = this;
      if (!current || current.waiting.length === 0) return;
      current.silentTicks = current === connection ? current.silentTicks + 1 : 1;
      if (current.silentTicks < TICKS) return this.tick(current);
      this.close(current, `redis was silent for ${REPLY_TIMEOUT_MS} ms`);
    });
  }

  private close(connection: Connection, reason: string): void {
    connection.isOpen = false;
    if (connection !== this.connection) return;
    this.connection = undefined;
    for (const waiting of connection.waiting.splice(0)) {
      if (this.options.resends) this.sendAgain(waiting);
      else waiting.fail(reason);
    }
    if (!this.isStopped) this.tryToConnect();
  }

  private sendAgain(waiting: Waiting): void {
    this.options.process.after(RESEND_MS, () => {
      if (waiting.isOver) return;
      const { connection } = this;
      if (connection === undefined) waiting.fail("Connection is closed.");
      else this.write(connection, waiting);
    });
  }

  private latencyMs(): number {
    return this.options.random.fraction() * LATENCY_MS_MAX;
  }
}
