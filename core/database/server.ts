import type { Sql } from "./client.ts";

/** How long `stop` waits for running statements, in seconds. */
const STOP_TIMEOUT_S = 5;

/** A database and its connections. The owner calls `stop`, which closes both. */
export interface DatabaseServer {
  readonly sql: Sql;
  /** Connections for commits and the watch of the ledger, which no page and no load holds up. */
  readonly commits: Sql;
  /** Connections for what new calls load (wallets, keys), which no page holds up. */
  readonly loads: Sql;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A server that runs elsewhere: `start` does nothing, and `stop` closes only the connections. */
export function remoteServer(sql: Sql, commits = sql, loads = sql): DatabaseServer {
  const all = [...new Set([sql, commits, loads])];
  return {
    sql,
    commits,
    loads,
    start: async () => {},
    stop: async () => void (await Promise.all(all.map((each) => each.end(STOP_TIMEOUT_S)))),
  };
}
