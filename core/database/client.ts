import postgres from "postgres";
import type { Log } from "../process/log.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import { type PostgresAddress, readAddress } from "./address.ts";
import type { Parameter } from "./database.ts";
import { type Line, Lines, NotConnected } from "./line.ts";

/** A slow server takes several round trips for a connection. A server that is down refuses it at once. */
const CONNECT_TIMEOUT_S = 5;
/** How long a statement waits for a connection that is not in use, before it needs one to be made. */
const TURN_TIMEOUT_MS = 5_000;
/** Time beyond the statement timeout after which a connection without a reply is considered dead. */
const REPLY_GRACE_MS = 5_000;
const REPLY_TIMEOUT_MS = 30_000;

/**
 * A pool of connections. Each call is one transaction, and none spans several calls: a process that is frozen inside
 * one would keep its locks.
 */
export interface Sql {
  /**
   * Returns the rows of one statement with parameters `$1`, `$2`…. Columns of type bigint are BigInt. Rejects
   * within 15 s if it gets no connection; with several hosts, 10 s later for each.
   */
  query<Row extends object>(text: string, parameters?: readonly Parameter[]): Promise<Row[]>;
  /** Runs several statements without parameters, in one transaction. With `isLong`, however long they take. */
  script(text: string, options?: { readonly isLong?: boolean }): Promise<void>;
  /** Waits for running statements, at most `timeoutS` seconds, then closes the pool. */
  end(timeoutS: number): Promise<void>;
}

interface ClientOptions {
  /** The URL of a server (`postgres://…`), or the unix socket of the embedded one. */
  readonly server: { readonly url: string } | { readonly socketPath: string };
  readonly connectionsMax: number;
  /** Name of the connections, as `pg_stat_activity` shows them. */
  readonly name?: string;
  /** The server cancels a statement after this time; 0 = never. */
  readonly statementTimeoutMs: number;
  readonly log: Log;
  /** A monotonic clock, for tests. */
  readonly nowMs?: () => number;
  /** Maximum time in which a connection is made, in seconds. Default: 5. */
  readonly connectTimeoutS?: number;
  /** Maximum time until a connection is not in use, for tests. */
  readonly turnTimeoutMs?: number;
}

/** Connects on first use, and again after a connection is lost. */
export function connect(options: ClientOptions): Sql {
  const { server, statementTimeoutMs, log } = options;
  const replyTimeoutMs =
    statementTimeoutMs > 0 ? statementTimeoutMs + REPLY_GRACE_MS : REPLY_TIMEOUT_MS;
  const turns = new Turns(options.connectionsMax, options.turnTimeoutMs ?? TURN_TIMEOUT_MS);
  const lines = new Lines({
    address: "url" in server ? readAddress(server.url) : addressOf(server.socketPath),
    timeoutMs: (options.connectTimeoutS ?? CONNECT_TIMEOUT_S) * 1_000,
    name: options.name ?? "tollgate",
    statementTimeoutMs,
    log,
    nowMs: options.nowMs ?? (() => performance.now()),
  });
  const open = new Set<Line>();
  const free: Line[] = [];
  let isEnded = false;

  async function takeLine(): Promise<Line> {
    // In turns, so that each is used, and replaced once it is old.
    for (let line = free.shift(); line !== undefined; line = free.shift()) {
      if (!line.isOver()) return line;
      close(line);
    }
    const line = await lines.open();
    open.add(line);
    if (!isEnded) return line;
    close(line);
    throw new NotConnected("the connections to Postgres were closed");
  }

  function close(line: Line): void {
    open.delete(line);
    line.close();
  }

  async function run<Rows>(work: (sql: Line["sql"]) => Promise<Rows>, isLong = false) {
    await turns.take();
    let line: Line | undefined;
    try {
      line = await takeLine();
      const rows = await (isLong ? work(line.sql) : withTimeout(work(line.sql), replyTimeoutMs));
      if (rows === TIMED_OUT)
        throw new Error(`the database did not reply within ${replyTimeoutMs} ms`);
      free.push(line);
      return rows;
    } catch (error) {
      if (line !== undefined) {
        if (isLost(error)) close(line);
        else free.push(line);
      }
      throw error;
    } finally {
      turns.pass();
    }
  }

  return {
    query: async <Row extends object>(text: string, parameters: readonly Parameter[] = []) =>
      run(async (sql) => [...(await sql.unsafe<Row[]>(text, [...parameters]))]),
    script: async (text, { isLong = false } = {}) => {
      const script = isLong ? `set local statement_timeout = 0; ${text}` : text;
      await run((sql) => sql.unsafe(script).simple(), isLong);
    },
    end: async (timeoutS) => {
      isEnded = true;
      await Promise.all([...open].map(({ sql }) => sql.end({ timeout: timeoutS })));
    },
  };
}

/** Returns the SQLSTATE of an error, five characters; undefined if the error did not come from Postgres. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.code : undefined;
}

function addressOf(path: string): PostgresAddress {
  const places = [{ host: "localhost", port: 0, path }];
  return { places, tls: undefined, user: "postgres", database: "postgres" };
}

/**
 * Returns true for network errors, for SQLSTATE 57P (the server shuts down) and 08 (connection lost), and if the server takes
 * no writes any more.
 */
function isLost(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || /^(?:57P|08)|^25006$/.test(state);
}

/** Lets at most `max` statements run at a time. The others wait in order, and fail after `timeoutMs`. */
class Turns {
  private readonly waiting = new Set<() => void>();
  private free: number;

  constructor(
    max: number,
    private readonly timeoutMs: number,
  ) {
    this.free = max;
  }

  /** Resolves when it is this statement's turn. Its owner calls `pass` after it. */
  take(): Promise<void> {
    if (this.free > 0) {
      this.free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.delete(begin);
        reject(new NotConnected(`all connections to Postgres are in use for ${this.timeoutMs} ms`));
      }, this.timeoutMs);
      this.waiting.add(begin);
    });
  }

  pass(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.free += 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}
