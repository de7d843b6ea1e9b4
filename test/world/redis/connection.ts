import type { Random } from "../../support/random.ts";
import type { SimulatedProcess } from "../process.ts";
import type { Scheduler } from "../scheduler.ts";
import type { RedisReply } from "./lua.ts";
import type { RedisServer } from "./server.ts";

const LATENCY_MS_MAX = 1.5;
const CONNECT_TIMEOUT_MS = 1_000;
export const REPLY_TIMEOUT_MS = 450;
/** Silence is counted in this many ticks of the process's own loop, as `core/redis/client.ts` does. */
const TICKS = 9;
export const CLOSED = "Connection is closed.";

/** A command whose reply is due. */
export class Waiting {
  /** True if `ASKING` is sent before it: see `ClusterNode`. */
  readonly isAsking: boolean;
  isOver = false;

  constructor(
    readonly name: string,
    readonly args: readonly string[],
    readonly resolve: (reply: RedisReply) => void,
    readonly reject: (error: Error) => void,
    isAsking = false,
  ) {
    this.isAsking = isAsking;
  }

  fail(reason: string): void {
    this.isOver = true;
    this.reject(new Error(reason));
  }
}

/** The two ends of a connection, and what decides its delays. */
export interface Line {
  readonly server: RedisServer;
  readonly process: SimulatedProcess;
  readonly scheduler: Scheduler;
  readonly random: Random;
}

interface Handlers {
  readonly onOpen: (connection: Connection) => void;
  /** Called if the server does not accept it. The attempt lasts for `ms` from now. */
  readonly onFailed: (ms: number) => void;
  /** Called once, when either side has closed it, with the commands that have no reply. */
  readonly onClosed: (left: readonly Waiting[], reason: string) => void;
}

export function connect(line: Line, { onOpen, onFailed, onClosed }: Handlers): void {
  const { server, process } = line;
  process.receive(latencyMs(line), "redis connects", () => {
    if (!server.up) return onFailed(0);
    if (server.frozen || !server.isReachedBy(process.name)) return onFailed(CONNECT_TIMEOUT_MS);
    onOpen(new Connection(line, onClosed));
  });
}

/** One connection. Replies arrive in the order of their commands, until either side closes it. */
export class Connection {
  readonly waiting: Waiting[] = [];
  silentTicks = 0;
  /** False once the server has closed it: it reads no more commands. */
  private isOpen = true;
  /** True once the client has closed it, or noticed that the server did. */
  private isClosed = false;
  /** True after a lost reply: no later reply arrives before it. */
  private isMute = false;
  private sentUntilMs = 0;
  private repliedUntilMs = 0;

  constructor(
    private readonly line: Line,
    private readonly onClosed: Handlers["onClosed"],
  ) {
    const { server, process } = line;
    const forget = server.accept(() => {
      forget();
      this.isOpen = false;
      process.receive(latencyMs(line), "redis closed", () => this.close(CLOSED));
    });
    process.onDeath(() => {
      forget();
      this.isOpen = false;
    });
  }

  write(waiting: Waiting): void {
    this.waiting.push(waiting);
    const { scheduler, server } = this.line;
    const atMs = Math.max(this.sentUntilMs, scheduler.nowMs + latencyMs(this.line));
    this.sentUntilMs = atMs;
    scheduler.after(atMs - scheduler.nowMs, "redis gets", () => {
      // Commands that the server had not read when the connection was cut do not arrive.
      if (this.isOpen && this.isJoined()) server.serve(() => this.execute(waiting));
    });
  }

  close(reason: string): void {
    this.isOpen = false;
    if (this.isClosed) return;
    this.isClosed = true;
    this.onClosed(this.waiting.splice(0), reason);
  }

  private execute({ name, args, isAsking }: Waiting): void {
    if (!this.isOpen) return;
    const { server, scheduler, process } = this.line;
    let reply: RedisReply | Error;
    try {
      reply = server.execute(name, args, isAsking);
    } catch (error) {
      reply = error instanceof Error ? error : new Error(String(error));
    }
    if (server.losesReplies) this.isMute = true;
    if (this.isMute) return;
    const atMs = Math.max(this.repliedUntilMs, scheduler.nowMs + latencyMs(this.line));
    this.repliedUntilMs = atMs;
    process.receive(atMs - scheduler.nowMs, "redis replies", () => {
      if (!this.isClosed && this.isJoined()) this.hear(reply);
    });
  }

  private hear(reply: RedisReply | Error): void {
    this.silentTicks = 0;
    const first = this.waiting.shift();
    if (first === undefined || first.isOver) return;
    first.isOver = true;
    if (reply instanceof Error) first.reject(reply);
    else first.resolve(reply);
  }

  /** Returns false if the network between both ends is cut. Nothing that is lost then arrives later. */
  private isJoined(): boolean {
    const { server, process } = this.line;
    if (!server.isReachedBy(process.name)) this.isMute = true;
    return server.isReachedBy(process.name);
  }
}

/** Closes a connection with outstanding replies and no data. `current`: the connection of the client at a tick. */
export class Silence {
  private isTicking = false;

  constructor(
    private readonly process: SimulatedProcess,
    private readonly current: () => Connection | undefined,
  ) {}

  watch(connection: Connection): void {
    if (this.isTicking) return;
    this.isTicking = true;
    this.process.after(REPLY_TIMEOUT_MS / TICKS, () => {
      this.isTicking = false;
      const current = this.current();
      if (!current || current.waiting.length === 0) return;
      current.silentTicks = current === connection ? current.silentTicks + 1 : 1;
      if (current.silentTicks < TICKS) return this.watch(current);
      current.close(`redis was silent for ${REPLY_TIMEOUT_MS} ms`);
    });
  }
}

function latencyMs({ random }: Line): number {
  return random.fraction() * LATENCY_MS_MAX;
}
