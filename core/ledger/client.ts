import postgres from "postgres";
import type { Log } from "../log.ts";

/** The client with `bigint` columns as BigInt, so that no amount is ever rounded. */
export type Sql = postgres.Sql<{ bigint: bigint }>;
export type Transaction = postgres.TransactionSql<{ bigint: bigint }>;

const CONNECT_TIMEOUT_S = 5;
const RECONNECT_S_MAX = 1;

export interface ClientOptions {
  /** A server by its `postgres://…`, or the unix socket of the embedded one. */
  readonly server: { readonly url: string } | { readonly socketPath: string };
  readonly connectionsMax: number;
  /** The server gives up a statement after this; 0: never. */
  readonly statementTimeoutMs: number;
  readonly log: Log;
}

/** A pool of connections, opened when they are needed and again when they break. */
export function connect(options: ClientOptions): Sql {
  const { server, log } = options;
  const common = {
    max: options.connectionsMax,
    connect_timeout: CONNECT_TIMEOUT_S,
    // In seconds. A server that is back is found again at once.
    backoff: (attempt: number) => Math.min(RECONNECT_S_MAX, 0.02 * 2 ** attempt),
    types: { bigint: postgres.BigInt },
    onnotice: (notice: postgres.Notice) => log.debug({ notice: notice["message"] }, "postgres"),
  };
  if ("socketPath" in server) {
    const database = { user: "postgres", database: "postgres", host: "localhost", ssl: false };
    return postgres({ ...common, ...database, path: server.socketPath });
  }
  const connection = {
    application_name: "tollgate",
    ...(options.statementTimeoutMs > 0 ? { statement_timeout: options.statementTimeoutMs } : {}),
  };
  return postgres(server.url, { ...common, connection });
}

/** The five characters by which Postgres names an error; undefined where the error is not its answer. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.code : undefined;
}

/** Whether a text can be the id of anything: Postgres rejects the whole statement for one that cannot. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
