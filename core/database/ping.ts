import postgres from "postgres";

/** Connects once and runs `SELECT 1`. Rejects with the driver's error, which names no password. */
export async function pingPostgres(url: string, timeoutMs: number): Promise<void> {
  await withConnection(url, timeoutMs, (sql) => sql`SELECT 1`);
}

/** The connections of a server that this user may open to this database, and how many others use of them. */
export interface ServerConnections {
  readonly allowed: number;
  readonly used: number;
}

export async function connectionsOf(url: string, timeoutMs: number): Promise<ServerConnections> {
  const [found] = await withConnection(
    url,
    timeoutMs,
    (sql) => sql<ServerConnections[]>`
      select
        least(
          current_setting('max_connections')::int
            - current_setting('superuser_reserved_connections')::int,
          (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
          (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user)
        ) as allowed,
        (select count(*)::int from pg_stat_activity
          where backend_type = 'client backend' and pid <> pg_backend_pid()) as used`,
  );
  if (found === undefined) throw new Error("Postgres did not return its settings");
  return found;
}

async function withConnection<Result>(
  url: string,
  timeoutMs: number,
  work: (sql: postgres.Sql) => Promise<Result>,
): Promise<Result> {
  const sql = postgres(url, {
    max: 1,
    connect_timeout: Math.ceil(timeoutMs / 1000),
    onnotice: () => {},
  });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 0 });
  }
}
