import { readAddress } from "./address.ts";
import { Lines } from "./line.ts";

/** The connections of a server that this user may open to this database, and how many of them others use. */
export interface ServerConnections {
  readonly allowed: number;
  readonly used: number;
  /** Those of `used` that gateways of this machine have. */
  readonly usedHere: number;
}

/** The role that may use `reserved_connections`; both exist since Postgres 16. */
const RESERVED_ROLE = "pg_use_reserved_connections";

/** The rights of the role of a URL in its database, and the connections that it gets. */
export interface Grants {
  readonly role: string;
  readonly database: string;
  /** True if the role can make tables. */
  readonly mayCreate: boolean;
  /**
   * Undefined behind a pooler, such as PgBouncer: the server's limits are not those of the gateway's connections then.
   */
  readonly connections: ServerConnections | undefined;
  /** The server ends a statement of the gateway that takes longer than this, in milliseconds; 0: it ends none. */
  readonly statementTimeoutMs: number;
}

/**
 * Connects once, with the `statement_timeout` of the gateway, and reads them. Rejects with the driver's error, which names
 * no password.
 */
export async function grantsOf(
  url: string,
  timeoutMs: number,
  statementTimeoutMs: number,
): Promise<Grants> {
  const lines = new Lines({
    address: readAddress(url),
    timeoutMs,
    name: "tollgate preflight",
    statementTimeoutMs,
    nowMs: () => performance.now(),
  });
  const { sql } = await lines.open();
  try {
    const found = await sql<
      (Omit<Grants, "connections"> & ServerConnections & { readonly pid: number })[]
    >`
      select
        pg_backend_pid() as pid,
        quote_ident(current_user) as role,
        quote_ident(current_database()) as database,
        coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayCreate",
        (select setting::int from pg_settings where name = 'statement_timeout') as "statementTimeoutMs",
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
            and datid is not null and pid <> pg_backend_pid()) as used,
        (select count(*)::int from pg_stat_activity
          where application_name like 'tollgate%' and pid <> pg_backend_pid()
            and client_addr is not distinct from inet_client_addr()) as "usedHere"
      from pg_roles where rolname = current_user`;
    const [server] = found;
    if (server === undefined) throw new Error("Postgres did not return its settings");
    const { pid, allowed, used, usedHere, ...grants } = server;
    // A pooler names itself to its clients, and lends them processes of the server by turns.
    const connections = found.state.pid === pid ? { allowed, used, usedHere } : undefined;
    return { ...grants, connections };
  } finally {
    await sql.end({ timeout: 0 });
  }
}
