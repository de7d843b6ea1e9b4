import { Cluster, Command, Redis } from "ioredis";
import { backoffMs } from "../process/backoff.ts";
import { messageOf } from "../process/thrown.ts";
import { atEndOfTurn } from "../process/turn.ts";
import { addressOf } from "./address.ts";
import { connectorWith } from "./connector.ts";
import type { Script } from "./script.ts";

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS_MIN = 25;
const RECONNECT_MS_MAX = 250;
/** Maximum redirections of a command in a cluster before it fails. */
const REDIRECTIONS_MAX = 4;
const CLUSTER_RETRY_MS = 50;
/** How often the table of slots is read, in addition to after each redirection: after a crash no node redirects. */
const SLOTS_REFRESH_MS = 2_000;

/** Redis is not connected or not ready. The command was not sent. */
export class RedisAway extends Error {
  constructor(readonly reason: string) {
    super(`redis is unreachable (${reason}): the command was not sent`);
    this.name = "RedisAway";
  }
}

/** The part of a Redis client that the hold store needs. */
export type RedisCommands = Pick<
  RedisClient,
  "isCluster" | "connect" | "disconnect" | "evalsha" | "load" | "run" | "call"
>;

/**
 * A connection to one Redis or to a cluster. Every command resolves or rejects within `timeoutMs` of the last reply.
 */
export class RedisClient {
  /** True if a command can use only keys of one hash tag. */
  readonly isCluster: boolean;
  private readonly client: Redis | Cluster;
  private readonly commands: Batch | ClusterBatch;
  private readonly replyTimeout: ReplyTimeout | undefined;
  /** Why it is not connected. */
  private fault: string | undefined;
  private nodeFault: string | undefined;

  /** `servers`: the URL of one Redis, or of some nodes of a cluster. */
  constructor(servers: string | readonly string[], timeoutMs: number) {
    this.client = connect(servers, timeoutMs, (error) => {
      this.nodeFault = messageOf(error);
    });
    this.isCluster = this.client instanceof Cluster;
    if (this.client instanceof Redis) {
      this.commands = new Batch(this.client);
      this.replyTimeout = new ReplyTimeout(this.client, timeoutMs);
    } else this.commands = new ClusterBatch(this.client);
    this.client.on("error", (error) => {
      const fault = faultOf(error);
      this.fault = fault === LOST ? (this.nodeFault ?? fault) : fault;
    });
    this.client.on("ready", () => {
      this.fault = undefined;
      this.nodeFault = undefined;
    });
  }

  /** Connects in the background and reconnects forever. Calls `onReady` after each connect. */
  connect(onReady: () => void = () => {}): void {
    this.client.on("ready", onReady);
    this.client.connect().catch(() => {});
  }

  disconnect(): void {
    this.replyTimeout?.stop();
    this.client.disconnect();
  }

  /** Runs a script that the server has cached. Rejects with `NOSCRIPT …` if it has not. */
  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send("evalsha", [sha, String(keys.length), ...keys, ...args]);
  }

  /** Runs a script and caches it on the server. */
  load(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.send("eval", [script.source, String(keys.length), ...keys, ...args]);
  }

  /** Runs a script, cached or not. */
  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await this.evalsha(script.sha, keys, args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return await this.load(script, keys, args);
    }
  }

  /** Runs any other command. If it has keys, the first argument is one. */
  call(name: string, ...args: string[]): Promise<unknown> {
    return this.send(name.toLowerCase(), args);
  }

  private send(name: string, args: string[]): Promise<unknown> {
    const { status } = this.client;
    if (status !== "ready") return Promise.reject(new RedisAway(this.fault ?? status));
    return this.commands.run(name, args);
  }
}

/** How Redis begins its reply to a command that it did not carry out, because it is at its `maxmemory`. */
export const OUT_OF_MEMORY = "OOM";

export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith(OUT_OF_MEMORY);
}

export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

/** Keys of the command are moving to another node of the cluster. Some may be there already, and others not. */
export function isMovedSlot(error: unknown): boolean {
  return error instanceof Error && /^TRYAGAIN|non local key/.test(error.message);
}

/** All that a cluster says of a node that it could not connect to. */
const LOST = "Connection is closed.";

/** Returns the words only: an error reply to AUTH has the password beside them. */
function faultOf(error: Error & { readonly lastNodeError?: unknown }): string {
  return messageOf(error.lastNodeError ?? error);
}

function connect(
  servers: string | readonly string[],
  timeoutMs: number,
  onFault: (error: Error) => void,
): Redis | Cluster {
  const common = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A command sent before the connection broke may have run: the caller decides if to send it again.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  };
  if (typeof servers === "string") {
    let left: Redis["stream"] | undefined;
    const redis = new Redis({
      ...common,
      ...addressOf(servers),
      enableOfflineQueue: false,
      retryStrategy: reconnectMs,
      // This server was demoted: reconnect, since its address may lead to the new primary. A cluster redirects instead.
      reconnectOnError(error) {
        if (!error.message.startsWith("READONLY") || left === redis.stream) return false;
        left = redis.stream;
        return true;
      },
    });
    return redis;
  }
  const nodes = servers.map(addressOf);
  const { username, password, tls } = nodes[0] ?? {};
  return new Cluster(nodes, {
    // Certificates have names. And ioredis would connect to no node if one name is unknown.
    dnsLookup: (host, done) => done(null, host),
    enableOfflineQueue: false,
    lazyConnect: true,
    maxRedirections: REDIRECTIONS_MAX,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    // As above: ioredis does not send a command again whose connection broke.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: CLUSTER_RETRY_MS,
    clusterRetryStrategy: reconnectMs,
    redisOptions: {
      ...common,
      Connector: connectorWith(onFault),
      socketTimeout: timeoutMs,
      // Bounds commands that wait in the queue of a node that is still connecting; nothing else does.
      commandTimeout: timeoutMs,
      ...(username && { username }),
      ...(password && { password }),
      ...(tls && { tls: {} }),
    },
  });
}

function reconnectMs(attempt: number): number {
  return backoffMs(attempt, RECONNECT_MS_MIN, RECONNECT_MS_MAX);
}

const UTF8 = { replyEncoding: "utf8" } as const;

/**
 * Gathers the commands of one turn of the event loop into one write. ioredis writes to it as to one of its own
 * pipelines. Those cost four promises and two callbacks per command, and wait for the replies to one batch before they
 * send the next.
 *
 * Replies come in the order of the commands. So once the connection is ready, every command must go through here: a
 * command written directly would get the reply of another one.
 */
class Batch {
  readonly isPipeline = true;
  readonly destination: { readonly redis: Redis };
  private readonly flush = (): void => this.send();
  private stream: Redis["stream"] | undefined;
  private text = "";

  constructor(private readonly redis: Redis) {
    this.destination = { redis };
  }

  /** Sends a command at the end of this turn. All arguments are strings. */
  run(name: string, args: string[]): Promise<unknown> {
    // Set `args` directly: the constructor copies its arguments twice, which costs more than all the rest.
    const command = new Command(name, [], UTF8);
    command.args = args;
    this.redis.sendCommand(command, this);
    return command.promise;
  }

  /** ioredis calls this with a command that it has put into its queue of commands without a reply. */
  write(text: string | Buffer): void {
    if (this.stream === undefined) atEndOfTurn("send", this.flush);
    // ioredis has rejected the commands of a lost connection: drop their text.
    if (this.stream !== this.redis.stream) this.text = "";
    this.stream = this.redis.stream;
    this.text += text.toString();
  }

  private send(): void {
    const { stream, text } = this;
    this.stream = undefined;
    this.text = "";
    if (stream === this.redis.stream) stream?.write(text);
  }
}

/** The part of `Cluster` of ioredis that is used here. */
export interface ClusterCommands {
  call(name: string, ...args: string[]): Promise<unknown>;
  /** The connections to its nodes. A stream is undefined, or null, until the first attempt to connect. */
  nodes(): readonly { readonly stream?: Corkable | null }[];
}

interface Corkable {
  cork(): void;
  uncork(): void;
}

interface Waiting {
  readonly name: string;
  readonly args: readonly string[];
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/**
 * Gathers the commands of one turn of the event loop into one write to each node of a cluster.
 *
 * ioredis sends each command by itself, and follows its redirections. Not in one of its pipelines (6.0.0): while nodes
 * are down, it may send some commands of a pipeline and fail others. Then it puts those into the queue of a connection
 * and never writes them, and from then on each command there gets the reply to another.
 */
export class ClusterBatch {
  private readonly flush = (): void => this.send();
  private waiting: Waiting[] = [];

  constructor(private readonly cluster: ClusterCommands) {}

  /** Sends a command at the end of this turn. */
  run(name: string, args: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) atEndOfTurn("send", this.flush);
      this.waiting.push({ name, args, resolve, reject });
    });
  }

  private send(): void {
    const { cluster, waiting } = this;
    this.waiting = [];
    const streams = waiting.length > 1 ? cluster.nodes().map(({ stream }) => stream) : [];
    for (const stream of streams) stream?.cork();
    try {
      for (const { name, args, resolve, reject } of waiting) {
        cluster.call(name, ...args).then(resolve, reject);
      }
    } finally {
      for (const stream of streams) stream?.uncork();
    }
  }
}

const TICKS = 9;

/**
 * Closes a connection with outstanding replies and no data for `timeoutMs`, so that its commands reject.
 *
 * Counts ticks of this process's event loop instead of clock time. After a stall, timers run before sockets are read,
 * so by the clock a Redis that has replied would look dead. Uses one timer for all commands: a timer per command costs
 * 1.5 µs.
 */
class ReplyTimeout {
  private readonly timer: NodeJS.Timeout;
  private stream: Redis["stream"] | undefined;
  private bytesRead = 0;
  private ticks = 0;

  constructor(
    private readonly redis: Redis,
    timeoutMs: number,
  ) {
    this.timer = setInterval(() => this.tick(timeoutMs), timeoutMs / TICKS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(timeoutMs: number): void {
    const { stream, commandQueue } = this.redis;
    const bytesRead = stream?.bytesRead ?? 0;
    const hasData = stream !== this.stream || bytesRead !== this.bytesRead;
    this.stream = stream;
    this.bytesRead = bytesRead;
    if (hasData || commandQueue.length === 0) {
      this.ticks = 0;
      return;
    }
    this.ticks += 1;
    if (this.ticks < TICKS) return;
    this.ticks = 0;
    stream?.destroy(new Error(`redis was silent for ${timeoutMs} ms`));
  }
}
