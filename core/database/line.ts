import postgres from "postgres";
import { backoffMs } from "../process/backoff.ts";
import type { Log } from "../process/log.ts";
import { codeOf, messageOf } from "../process/thrown.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import type { Place, PostgresAddress } from "./address.ts";
import { lateAt, nameOf, openSocket } from "./way.ts";

const RECONNECT_MS_MIN = 40;
const RECONNECT_MS_MAX = 1_000;
/** A line is left after 30 to 60 minutes, so that a proxy can be emptied. */
const LIFE_MS_MIN = 30 * 60_000;

/** No connection to Postgres was made, so no statement was sent on it. */
export class NotConnected extends Error {
  readonly code: string;

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "NotConnected";
    this.code = codeOf(cause) ?? "CONNECTION_CLOSED";
  }
}

/** One connection to a server that takes writes. */
export interface Line {
  readonly sql: ReturnType<typeof clientOf>;
  /** Closes it at once. */
  close(): void;
  /** True once it is closed, or old. */
  isOver(): boolean;
}

interface LineOptions {
  readonly address: PostgresAddress;
  /** Maximum time for TCP and TLS, and again until the server is ready. */
  readonly timeoutMs: number;
  /** Name of the connection, as `pg_stat_activity` shows it. */
  readonly name: string;
  /** The server cancels a statement after this time; 0 = never. */
  readonly statementTimeoutMs: number;
  readonly log?: Log;
  /** A monotonic clock. */
  readonly nowMs: () => number;
}

/**
 * Makes connections, each a client of the `postgres` package that never connects again. In 3.4.9, one that connects
 * again may never write (its issues 1154 and 1208), or connects without a pause, forever, if a proxy accepts and closes
 * (1193 and 1214).
 *
 * After a failure, all fail at once until a backoff is over: 40 ms, doubling up to a second.
 */
export class Lines {
  private failures = 0;
  private retryAtMs = Number.NEGATIVE_INFINITY;
  private lastFailure: unknown;
  /** The place that worked last, which is tried first. */
  private at = 0;

  constructor(private readonly options: LineOptions) {}

  /** Rejects with the error of Postgres if it refuses, or else with `NotConnected`. */
  async open(): Promise<Line> {
    const { address, nowMs } = this.options;
    const { places } = address;
    if (nowMs() < this.retryAtMs) throw refusalOf(this.lastFailure);
    const first = this.at;
    const faults: unknown[] = [];
    for (let tried = 0; tried < places.length; tried += 1) {
      const at = (first + tried) % places.length;
      try {
        const line = await this.openTo(places[at] as Place);
        this.at = at;
        this.failures = 0;
        this.retryAtMs = Number.NEGATIVE_INFINITY;
        return line;
      } catch (error) {
        faults.push(error);
      }
    }
    this.lastFailure = worstOf(faults);
    this.failures += 1;
    this.retryAtMs = nowMs() + backoffMs(this.failures, RECONNECT_MS_MIN, RECONNECT_MS_MAX);
    throw refusalOf(this.lastFailure);
  }

  private async openTo(place: Place): Promise<Line> {
    const { address, timeoutMs, nowMs } = this.options;
    const socket = await openSocket(place, address.tls, timeoutMs);
    const endMs = nowMs() + LIFE_MS_MIN * (1 + Math.random());
    const line = {
      sql: clientOf(this.options, place, socket),
      close() {
        const ended = () => socket.destroy();
        this.sql.end({ timeout: 0 }).then(ended, ended);
      },
      isOver: () => socket.destroyed || nowMs() > endMs,
    };
    try {
      const found = await withTimeout(line.sql.unsafe(READ_ONLY).simple(), timeoutMs);
      if (found === TIMED_OUT) throw lateAt(place, timeoutMs);
      if (found[0]?.["transaction_read_only"] === "off") return line;
      throw new Error(
        `Postgres at ${nameOf(place)} takes no writes: a standby, a demoted primary, or set to read-only`,
      );
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }
}

/** Asked of each server: the address of a ledger may lead to a standby, whose balances are those of a while ago. */
const READ_ONLY = "show transaction_read_only";

/** Prefers the words of a Postgres server, such as a wrong password; else returns the faults of all places. */
function worstOf(faults: readonly unknown[]): unknown {
  const said = faults.find((fault) => fault instanceof postgres.PostgresError);
  if (said !== undefined || faults.length === 1) return said ?? faults[0];
  return new NotConnected(faults.map(messageOf).join("; "), faults[0]);
}

function refusalOf(error: unknown): unknown {
  if (error instanceof postgres.PostgresError) return error;
  return new NotConnected(messageOf(error), error);
}

function closedBefore(): NotConnected {
  return new NotConnected("the connection to Postgres was closed");
}

function clientOf(
  { address, name, statementTimeoutMs, timeoutMs, log }: LineOptions,
  { host, port }: Place,
  socket: Awaited<ReturnType<typeof openSocket>>,
) {
  let isTaken = false;
  const { user, password, database, options } = address;
  return postgres({
    host,
    port,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    // Missing in the types of the package.
    ...{
      socket: async () => {
        if (isTaken) throw closedBefore();
        isTaken = true;
        // The package would wait for a socket that has closed until `connect_timeout`.
        if (socket.destroyed) throw socket.errored ?? closedBefore();
        return socket;
      },
    },
    max: 1,
    ssl: false,
    backoff: false,
    max_lifetime: null,
    connect_timeout: timeoutMs / 1_000,
    // Arrays are passed as text, so their types need not be queried on each connection.
    fetch_types: false,
    types: { bigint: postgres.BigInt },
    onnotice: (notice: postgres.Notice) => log?.debug({ notice: notice["message"] }, "postgres"),
    connection: {
      ...(options !== undefined && { options }),
      application_name: name,
      ...(statementTimeoutMs > 0 ? { statement_timeout: statementTimeoutMs } : {}),
    },
  });
}
