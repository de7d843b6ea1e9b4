import type { Sql } from "./client.ts";

/** How long `stop` waits for statements that are under way, in seconds. */
const STOP_TIMEOUT_S = 5;

/** A database and the connections to it, for whoever owns both: `stop` closes them. */
export interface DatabaseServer {
  readonly sql: Sql;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A server that runs elsewhere: there is nothing to start, and only the connections to stop. */
export function remoteServer(sql: Sql): DatabaseServer {
  return { sql, start: async () => {}, stop: () => sql.end(STOP_TIMEOUT_S) };
}
