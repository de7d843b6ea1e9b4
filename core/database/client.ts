import postgres from "postgres";
import type { Log } from "../process/log.ts";
import { codeOf } from "../process/thrown.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import { type PostgresAddress, readAddress } from "./address.ts";
import type { Parameter } from "./database.ts";
import { NotConnected, type Way, wayTo } from "./way.ts";

/** A slow server takes several round trips for a connection. A server that is down refuses it at once. */
const CONNECT_TIMEOUT_S = 5;
/** How long a statement waits for a connection that is not in use, before it needs one to be made. */
const TURN_TIMEOUT_MS = 5_000;
/** Time beyond the statement timeout after which a connection without a reply is considered dead. */
const REPLY_GRACE_MS = 5_000;
const REPLY_TIMEOUT_MS = 30_000;
const READ_ONLY = "25006";
const LEAVE_READ_ONLY_MS = 1_000;

/**
 * A pool of connections. Each call is one transaction, and none spans several calls: a process that is frozen inside
 * one would keep its locks.
 */
export interface Sql {
  /**
   * Returns the rows of one statement with parameters `$1`, `$2`…. Columns of type bigint are BigInt. Rejects within 10
   * s if it gets no connection.
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

/**
 * Connects on first use and reconnects after a connection is lost.
 *
 * Uses only single queries of the `postgres` package, and replaces the pool after a connection broke. In 3.4.9, a
 * connection that closes while something is about to be written to it never writes again. A transaction on it ends the
 * process by an exception that cannot be caught (its issues 1154 and 1208).
 */
export function connect(options: ClientOptions): Sql {
  const replyTimeoutMs =
    options.statementTimeoutMs > 0 ? options.statementTimeoutMs + REPLY_GRACE_MS : REPLY_TIMEOUT_MS;
  const nowMs = options.nowMs ?? (() => performance.now());
  const turns = new Turns(options.connectionsMax, options.turnTimeoutMs ?? TURN_TIMEOUT_MS);
  const address = addressOf(options.server);
  const timeoutMs = (options.connectTimeoutS ?? CONNECT_TIMEOUT_S) * 1_000;
  const way = wayTo({ address, timeoutMs, nowMs });
  let pool = open();
  let ended = false;
  let leftReadOnlyAtMs = Number.NEGATIVE_INFINITY;

  function open(): Pool {
    const opened: Pool = openPool(options, address.url, { ...way, socket });
    return opened;

    /** The package would keep a connection that is made after its pool has ended. */
    async function socket() {
      const made = await way.socket();
      if (opened !== pool || ended) made.destroy();
      return made;
    }
  }

  /**
   * Leaves a server that refuses writes: it was demoted, and its address may lead to the new primary. Not for every
   * statement, as there may be no new primary yet.
   */
  function leaveReadOnly(demoted: typeof pool): void {
    if (nowMs() - leftReadOnlyAtMs < LEAVE_READ_ONLY_MS) return;
    leftReadOnlyAtMs = nowMs();
    options.log.warn(
      "Postgres is read-only: a standby, or a demoted primary; connecting again to its address",
    );
    giveUp(demoted);
  }

  function giveUp(broken: typeof pool): void {
    if (broken !== pool || ended) return;
    pool = open();
    broken.end({ timeout: 0 }).catch(() => {});
  }

  async function run<Rows>(work: (pool: Pool) => Promise<Rows>, isLong = false): Promise<Rows> {
    // The package would queue statements without a limit, and go on to run those that its caller has given up.
    await turns.take();
    const used = pool;
    try {
      const rows = await (isLong ? work(used) : withTimeout(work(used), replyTimeoutMs));
      if (rows !== TIMED_OUT) return rows;
      throw new Error(`the database did not reply within ${replyTimeoutMs} ms`);
    } catch (error) {
      if (isConnectionLost(error)) giveUp(used);
      else if (sqlState(error) === READ_ONLY) leaveReadOnly(used);
      throw error;
    } finally {
      turns.pass();
    }
  }

  return {
    query: async <Row extends object>(text: string, parameters: readonly Parameter[] = []) =>
      run(async (pool) => [...(await pool.unsafe<Row[]>(text, [...parameters]))]),
    script: async (text, { isLong = false } = {}) => {
      const script = isLong ? `set local statement_timeout = 0; ${text}` : text;
      await run((pool) => pool.unsafe(script).simple(), isLong);
    },
    end: async (timeoutS) => {
      ended = true;
      await pool.end({ timeout: timeoutS });
    },
  };
}

/** Returns the SQLSTATE of an error, five characters; undefined if the error did not come from Postgres. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.code : undefined;
}

type Pool = ReturnType<typeof openPool>;

function openPool(
  { log, name, statementTimeoutMs, connectionsMax }: ClientOptions,
  url: string,
  way: Way,
) {
  return postgres(url, {
    ...way,
    max: connectionsMax,
    // Arrays are passed as text, so their types need not be queried on each connection.
    fetch_types: false,
    types: { bigint: postgres.BigInt },
    onnotice: (notice: postgres.Notice) => log.debug({ notice: notice["message"] }, "postgres"),
    connection: {
      application_name: name ?? "tollgate",
      ...(statementTimeoutMs > 0 ? { statement_timeout: statementTimeoutMs } : {}),
    },
  });
}

function addressOf(server: ClientOptions["server"]): PostgresAddress {
  if ("url" in server) return readAddress(server.url);
  const places = [{ path: server.socketPath }];
  return { places, tls: undefined, url: "postgres://postgres@localhost/postgres" };
}

/**
 * Returns true for network errors, and for SQLSTATE 57P (the server shuts down) and 08 (connection lost), but not if a
 * connection was not made in time.
 */
function isConnectionLost(error: unknown): boolean {
  // Nothing was written to it, so the package makes it again. The other connections may have replies to come.
  if (error instanceof NotConnected || codeOf(error) === "CONNECT_TIMEOUT") return false;
  const state = sqlState(error);
  return state === undefined || state.startsWith("57P") || state.startsWith("08");
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
