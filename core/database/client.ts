import postgres from "postgres";
import type { Parameter } from "../contract/database.ts";
import { backoffMs } from "../process/backoff.ts";
import type { Log } from "../process/log.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";

const CONNECT_TIMEOUT_S = 5;
const RECONNECT_MS_MIN = 40;
const RECONNECT_MS_MAX = 1_000;
/** Longer than a statement may take; without an answer by then, its connection is taken for dead. */
const ANSWER_GRACE_MS = 5_000;
const ANSWER_TIMEOUT_MS = 30_000;

/**
 * A pool of connections. Each call is one transaction: there is none that spans several, because a process
 * that is frozen in the middle of one would keep its locks.
 */
export interface Sql {
  /** The rows of one statement with parameters `$1`, `$2`…; columns of type bigint are BigInt. */
  query<Row extends object>(text: string, parameters?: readonly Parameter[]): Promise<Row[]>;
  /** Several statements without parameters. */
  script(text: string): Promise<void>;
  /** Waits for what is under way, for `timeoutS` seconds at most. */
  end(timeoutS: number): Promise<void>;
}

interface ClientOptions {
  /** A server by its `postgres://…`, or the unix socket of the embedded one. */
  readonly server: { readonly url: string } | { readonly socketPath: string };
  readonly connectionsMax: number;
  /** The server gives up a statement after this; 0: never. */
  readonly statementTimeoutMs: number;
  /** Told when a statement had no answer in time: the server itself may hang. */
  readonly onSilent?: () => void;
  readonly log: Log;
}

/**
 * Connects when it is first needed, and anew when a connection is lost. Of the `postgres` package only
 * single queries are used, and a pool in which a connection broke is given up: in 3.4.9 a connection that
 * closes while something is about to be written to it never writes again, and a transaction on it ends the
 * process by an exception that nobody can catch (its issues 1154 and 1208).
 */
export function connect(options: ClientOptions): Sql {
  const answerTimeoutMs =
    options.statementTimeoutMs > 0
      ? options.statementTimeoutMs + ANSWER_GRACE_MS
      : ANSWER_TIMEOUT_MS;
  let pool = openPool(options);
  let ended = false;

  function giveUp(broken: typeof pool): void {
    if (broken !== pool || ended) return;
    pool = openPool(options);
    broken.end({ timeout: 0 }).catch(() => {});
  }

  async function run<Rows>(work: (pool: Pool) => Promise<Rows>): Promise<Rows> {
    const used = pool;
    try {
      const rows = await withTimeout(work(used), answerTimeoutMs);
      if (rows !== TIMED_OUT) return rows;
      options.onSilent?.();
      throw new Error(`the database did not answer within ${answerTimeoutMs} ms`);
    } catch (error) {
      if (isConnectionLost(error)) giveUp(used);
      throw error;
    }
  }

  return {
    query: async <Row extends object>(text: string, parameters: readonly Parameter[] = []) =>
      run(async (pool) => [...(await pool.unsafe<Row[]>(text, [...parameters]))]),
    script: async (text) => {
      await run((pool) => pool.unsafe(text).simple());
    },
    end: async (timeoutS) => {
      ended = true;
      await pool.end({ timeout: timeoutS });
    },
  };
}

/** The five characters by which Postgres names an error; undefined where the error is not its answer. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.code : undefined;
}

type Pool = ReturnType<typeof openPool>;

function openPool(options: ClientOptions) {
  const { server, log, statementTimeoutMs } = options;
  const common = {
    max: options.connectionsMax,
    connect_timeout: CONNECT_TIMEOUT_S,
    // In seconds. A server that is back is found again soon.
    backoff: (failures: number) => backoffMs(failures, RECONNECT_MS_MIN, RECONNECT_MS_MAX) / 1_000,
    // Arrays are passed as text, so there is no need to ask for their types at every connection.
    fetch_types: false,
    types: { bigint: postgres.BigInt },
    onnotice: (notice: postgres.Notice) => log.debug({ notice: notice["message"] }, "postgres"),
  };
  if ("socketPath" in server) {
    const database = { user: "postgres", database: "postgres", host: "localhost", ssl: false };
    return postgres({ ...common, ...database, path: server.socketPath });
  }
  const connection = {
    application_name: "tollgate",
    ...(statementTimeoutMs > 0 ? { statement_timeout: statementTimeoutMs } : {}),
  };
  return postgres(server.url, { ...common, connection });
}

/** Anything but an answer of the server; and its answers that it goes away (57P) or lost the line (08). */
function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || state.startsWith("57P") || state.startsWith("08");
}
