import type { Sql } from "./client.ts";

/** How long `stop` waits for running statements, in seconds. */
const STOP_TIMEOUT_S = 5;

/** A database and its connections. The owner calls `stop`, which closes both. */
export interface DatabaseServer {
  readonly sql: Sql;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A server that runs elsewhere: `start` does nothing, and `stop` closes only the connections. */
export function remoteServer(sql: Sql): DatabaseServer {
  return { sql, start: async () => {}, stop: () => sql.end(STOP_TIMEOUT_S) };
}
