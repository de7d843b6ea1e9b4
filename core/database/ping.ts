import postgres from "postgres";
import { readAddress } from "./address.ts";
import { wayTo } from "./way.ts";

/** Connects once and runs `SELECT 1`. Rejects with the driver's error, which names no password. */
export async function pingPostgres(url: string, timeoutMs: number): Promise<void> {
  await withConnection(url, timeoutMs, (sql) => sql`SELECT 1`);
}

/** The connections of a server that this user may open to this database, and how many of them others use. */
export interface ServerConnections {
  readonly allowed: number;
  readonly used: number;
}

/** The role that may use `reserved_connections`; both exist since Postgres 16. */
const RESERVED_ROLE = "pg_use_reserved_connections";

/**
 * Returns undefined behind a pooler, such as PgBouncer: the server's limits are not those of the
 * gateway's connections then.
 */
export async function connectionsOf(
  url: string,
  timeoutMs: number,
): Promise<ServerConnections | undefined> {
  const found = await withConnection(
    url,
    timeoutMs,
    (sql) => sql<(ServerConnections & { readonly pid: number })[]>`
      select
        pg_backend_pid() as pid,
        least(
          current_setting('max_connections')::int
            - current_setting('superuser_reserved_connections')::int
            - case when pg_has_role(oid, to_regrole(${RESERVED_ROLE}), 'usage') then 0
              else coalesce(current_setting('reserved_connections', true)::int, 0) end,
          nullif(rolconnlimit, -1),
          (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
        ) as allowed,
        -- Only superusers see what others are. Processes of the server itself have no database.
        (select count(*)::int from pg_stat_activity
          where coalesce(backend_type, 'client backend') = 'client backend'
            and datid is not null and pid <> pg_backend_pid()) as used
      from pg_roles where rolname = current_user`,
  );
  const [server] = found;
  if (server === undefined) throw new Error("Postgres did not return its settings");
  // A pooler names itself to its clients, and lends them processes of the server by turns.
  return found.state.pid === server.pid ? server : undefined;
}

/** The rights of a URL's role in its database. */
export interface Rights {
  readonly role: string;
  readonly database: string;
  /** True if it can make tables. */
  readonly mayCreate: boolean;
}

/** Rejects with the driver's error if the server cannot be reached. */
export async function rightsOf(url: string, timeoutMs: number): Promise<Rights> {
  const [found] = await withConnection(
    url,
    timeoutMs,
    (sql) => sql<Rights[]>`
      select quote_ident(current_user) as role, quote_ident(current_database()) as database,
        coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayCreate"`,
  );
  if (found === undefined) throw new Error("Postgres did not return the rights of its role");
  return found;
}

async function withConnection<Result>(
  url: string,
  timeoutMs: number,
  work: (sql: postgres.Sql) => Promise<Result>,
): Promise<Result> {
  const address = readAddress(url);
  const sql = postgres(address.url, {
    ...wayTo({ address, timeoutMs, nowMs: () => performance.now() }),
    max: 1,
    onnotice: () => {},
  });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 0 });
  }
}
