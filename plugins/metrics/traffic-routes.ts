import {
  type Command,
  dayOf,
  done,
  line,
  mapping,
  matching,
  type OperatorRoute,
  oneOf,
  reading,
  refuse,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import { firstByteMs } from "./traffic-counter.ts";
import {
  ROWS_MAX,
  type TrafficFilter,
  trafficByCause,
  trafficByTime,
  trafficByUpstream,
} from "./traffic-minutes.ts";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const TIME = "a time in Vietnam, such as 2026-11-30T09:00";
const time = v.optional(
  v.pipe(
    matching(/^2\d{3}-\d\d-\d\dT\d\d:\d\d$/, TIME),
    v.check(isTime, TIME),
    v.transform(timeOf),
  ),
);

function timeOf(text: string): Date {
  return new Date(`${text}+07:00`);
}

/** The 30th of February is no day, though a parser takes it for one of March. */
function isTime(text: string): boolean {
  const at = timeOf(text);
  return !Number.isNaN(at.getTime()) && dayOf(at) === text.slice(0, 10);
}

const asked = mapping({
  by: v.optional(oneOf(["upstream", "cause", "hour", "minute"]), "hour"),
  upstream: v.optional(line(200, "the name of an upstream, or * for each of them")),
  from: time,
  to: time,
});

export const trafficCommand: Command = {
  words: "traffic",
  about:
    "show calls served, failed and refused, by hour; of the last 24 hours, or from --from until --to in the last two days; with " +
    "--upstream of the attempts there; --by upstream shows uptime and times to the first byte",
  method: "GET",
  path: "/admin/v1/traffic",
  options: [
    {
      name: "by",
      value: "WHAT",
      about: "a row for each hour, minute, cause or upstream",
      example: "upstream",
    },
    { name: "upstream", value: "UPSTREAM", about: "its name in the config, or '*' for each" },
    { name: "from", value: "TIME", about: "in Vietnam, such as 2026-11-30T09:00" },
    { name: "to", value: "TIME" },
  ],
};

/** Route of what became of calls, or of attempts at upstreams, at all gateways. Counts appear within seconds. */
export function trafficRoutes({ database, clock }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/traffic",
      handle: reading(asked, async (given) => {
        const { by, to = nextMinute(clock.now()) } = given;
        const { from = new Date(to.getTime() - DAY_MS), upstream } = given;
        if (from >= to) return refuse.badRequest("from: expected a time before `to`.", "from");
        const rows = await rowsOf(by, { from, to, upstream });
        return done({ from, to, cut: rows.length > ROWS_MAX, rows: rows.slice(0, ROWS_MAX) });
      }),
    },
  ];

  async function rowsOf(by: "upstream" | "cause" | "hour" | "minute", filter: TrafficFilter) {
    if (by === "upstream") {
      const { upstream = "*" } = filter;
      return (await trafficByUpstream(database, { ...filter, upstream })).map(upstreamJson);
    }
    // Of calls all rows have the same upstream: none.
    const of = (upstream: string) => (filter.upstream === undefined ? {} : { upstream });
    if (by === "cause") {
      const rows = await trafficByCause(database, filter);
      return rows.map(({ upstream, lastAt, ...row }) => ({
        ...of(upstream),
        ...row,
        last_at: lastAt,
      }));
    }
    const rows = await trafficByTime(database, by, filter);
    return rows.map(({ at, upstream, ...row }) => ({ at, ...of(upstream), ...row }));
  }
}

function upstreamJson(row: Awaited<ReturnType<typeof trafficByUpstream>>[number]): object {
  const { upstream, served, failed, causes, firstBytes } = row;
  const tried = served + failed;
  return {
    upstream,
    served,
    failed,
    uptime_percent: tried === 0 ? null : Math.floor((served / tried) * 10_000) / 100,
    first_byte_p50_ms: firstByteMs(firstBytes, 0.5),
    first_byte_p99_ms: firstByteMs(firstBytes, 0.99),
    failures_by_cause: causes,
  };
}

/** Counts of the running minute belong to the period that ends now. */
function nextMinute(nowMs: number): Date {
  return new Date(nowMs - (nowMs % MINUTE_MS) + MINUTE_MS);
}
