import type { Services } from "../../core/plugin/index.ts";

type Database = Pick<Services["database"], "query">;

interface TrafficRow {
  readonly at: Date;
  readonly upstream: string;
  readonly cause: string;
  readonly calls: number;
  readonly firstBytes: readonly number[];
}

/** A period, and the upstream whose attempts are meant: `*` for each of them, undefined for the calls of customers. */
export interface TrafficFilter {
  readonly from: Date;
  readonly to: Date;
  readonly upstream?: string | undefined;
}

/** Rows that one query returns: a day by hour of 400 upstreams, or two days by minute of three. */
export const ROWS_MAX = 10_000;

/** SQL of whose fault a failed attempt is. Refusals of the request, and failures of the gateway, are not the upstream's. */
const NOT_ITS_FAULT = "(cause = 'gateway' or starts_with(cause, 'http_4'))";

/** Adds counts to those of all gateways. If the reply of the database is lost, a repetition counts them twice. */
export async function addTraffic(database: Database, rows: readonly TrafficRow[]): Promise<void> {
  // Always in the same order, so that two processes never wait for each other.
  await database.query(
    `insert into traffic_minutes as total (at, upstream, cause, calls, first_bytes)
    select at, upstream, cause, calls, "firstBytes" from jsonb_to_recordset($1::text::jsonb) as new (
      at timestamptz, upstream text, cause text, calls bigint, "firstBytes" bigint[]
    )
    order by at, upstream, cause
    on conflict (at, upstream, cause) do update set
      calls = total.calls + excluded.calls,
      first_bytes = array(
        select coalesce(one, 0) + coalesce(other, 0)
        from unnest(total.first_bytes, excluded.first_bytes) with ordinality both_of (one, other, place)
        order by place
      )`,
    [JSON.stringify(rows)],
  );
}

export async function dropTraffic(database: Database, before: Date): Promise<void> {
  await database.query("delete from traffic_minutes where at < $1", [before]);
}

/** Returns refusals of calls, or failures of attempts, by cause, most first. */
export function trafficByCause(database: Database, filter: TrafficFilter) {
  return database.query<{ upstream: string; cause: string; calls: number; lastAt: Date }>(
    `select upstream, cause, sum(calls)::float8 as calls, max(at) as "lastAt"
    from traffic_minutes where ${chosen(filter)} and cause <> 'served' and (upstream <> '' or cause <> 'failed')
    group by 1, 2 order by 3 desc, 1, 2 limit ${ROWS_MAX + 1}`,
    parametersOf(filter),
  );
}

/** Returns counts by minute or hour, newest first. `failed`: by the upstream's fault; `refused`: by the gateway, or the request's fault. */
export function trafficByTime(database: Database, unit: "minute" | "hour", filter: TrafficFilter) {
  const isFailed = `case when upstream = '' then cause = 'failed' else cause <> 'served' and not ${NOT_ITS_FAULT} end`;
  return database.query<{
    at: Date;
    upstream: string;
    served: number;
    failed: number;
    refused: number;
  }>(
    `select date_trunc('${unit}', at) as at, upstream,
      coalesce(sum(calls) filter (where cause = 'served'), 0)::float8 as served,
      coalesce(sum(calls) filter (where is_failed), 0)::float8 as failed,
      coalesce(sum(calls) filter (where cause <> 'served' and not is_failed), 0)::float8 as refused
    from (select *, ${isFailed} as is_failed from traffic_minutes where ${chosen(filter)}) counted
    group by 1, 2 order by 1 desc, 2 limit ${ROWS_MAX + 1}`,
    parametersOf(filter),
  );
}

/** Returns what became of the attempts at each upstream, with the first bytes in each range of time. */
export function trafficByUpstream(database: Database, filter: TrafficFilter) {
  return database.query<{
    upstream: string;
    served: number;
    failed: number;
    causes: Readonly<Record<string, number>>;
    firstBytes: readonly number[];
  }>(
    `with counted as materialized (select * from traffic_minutes where ${chosen(filter)}),
    by_cause as (
      select upstream, cause, sum(calls)::float8 as calls, cause <> 'served' and not ${NOT_ITS_FAULT} as is_failed
      from counted group by 1, 2
    ),
    ranges as (
      select upstream, place, sum(count)::float8 as calls
      from counted cross join unnest(first_bytes) with ordinality range (count, place) group by 1, 2
    )
    select upstream, coalesce(sum(calls) filter (where cause = 'served'), 0) as served,
      coalesce(sum(calls) filter (where is_failed), 0) as failed,
      coalesce(json_object_agg(cause, calls order by calls desc) filter (where cause <> 'served'), '{}') as causes,
      coalesce((
        select json_agg(ranges.calls order by place) from ranges where ranges.upstream = by_cause.upstream
      ), '[]') as "firstBytes"
    from by_cause group by upstream order by upstream limit ${ROWS_MAX + 1}`,
    parametersOf(filter),
  );
}

function chosen({ upstream }: TrafficFilter): string {
  const whose = upstream === "*" ? "upstream <> ''" : "upstream = $3";
  return `at >= $1 and at < $2 and ${whose}`;
}

function parametersOf({ from, to, upstream = "" }: TrafficFilter) {
  return upstream === "*" ? [from, to] : [from, to, upstream];
}
