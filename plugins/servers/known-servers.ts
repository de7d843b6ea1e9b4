import type { Services } from "../../core/plugin/index.ts";

/** The versions that a process serves by. Processes that share a ledger should agree on them. */
interface Serving {
  readonly build: string;
  readonly catalogue: string;
  readonly config: string;
}

/** A process, and the names of what it serves by in another version than the one that asks. */
export interface KnownServer extends Serving {
  readonly host: string;
  readonly address: string;
  /** Why its build would not start again on this database; null if it would. */
  readonly schemaProblem: string | null;
  readonly since: Date;
  readonly seenAt: Date;
  readonly isOwn: boolean;
  readonly differs: readonly (keyof Serving)[];
  /** True if it has differed for longer than a rolling upgrade or reload takes. */
  readonly isLate: boolean;
}

/** A process that was not seen for this long is gone. */
const SILENT_MINUTES = 3;
const LATE_MINUTES = 5;
const PARTS = ["build", "catalogue", "config"] as const;

type Row = Omit<KnownServer, "isOwn" | "differs"> & { readonly id: string };

/** Writes what this process serves by, and returns all processes, this one first. Times are the ledger's. */
export async function meetServers(
  database: Services["database"],
  own: Serving & Pick<KnownServer, "host" | "address" | "schemaProblem"> & { readonly id: string },
): Promise<KnownServer[]> {
  const { id, host, address, build, catalogue, config, schemaProblem } = own;
  await database.query(
    `insert into servers (id, host, address, build, catalogue, config, schema_problem, since, seen_at)
    values ($1, $2, $3, $4, $5, $6, $7, now(), now())
    on conflict (id) do update set address = $3, catalogue = $5, config = $6, schema_problem = $7, seen_at = now(),
      since = case when (servers.catalogue, servers.config) = ($5, $6) then servers.since else now() end`,
    [id, host, address, build, catalogue, config, schemaProblem],
  );
  await database.query(
    `delete from servers where seen_at < now() - interval '${SILENT_MINUTES} minutes'`,
    [],
  );
  return readServers(database, id);
}

export async function readServers(
  database: Services["database"],
  ownId: string,
): Promise<KnownServer[]> {
  const rows = await database.query<Row>(
    `select servers.id, servers.host, servers.address, servers.build, servers.catalogue, servers.config,
      servers.schema_problem as "schemaProblem", servers.since, servers.seen_at as "seenAt",
      greatest(servers.since, own.since) < now() - interval '${LATE_MINUTES} minutes' as "isLate"
    from servers join servers own on own.id = $1
    where servers.seen_at > now() - interval '${SILENT_MINUTES} minutes'
    order by servers.id <> $1, servers.host, servers.address, servers.id`,
    [ownId],
  );
  const [own] = rows;
  return rows.map(({ id, ...row }) => {
    const differs = PARTS.filter((part) => row[part] !== own?.[part]);
    return { ...row, isOwn: id === ownId, differs, isLate: row.isLate && differs.length > 0 };
  });
}

/** Removes a process that stops, so that nothing waits for it. */
export async function leaveServers(database: Services["database"], id: string): Promise<void> {
  await database.query("delete from servers where id = $1", [id]);
}
