import {
  done,
  mapping,
  matching,
  type OperatorRoute,
  program,
  type Refusal,
  reading,
  refuse,
  type Services,
  v,
  whole,
} from "../../core/plugin/index.ts";

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;
const MONTHS = `expected a month such as 2026-03; \`${program.admin} archive list\` shows them`;
const CURSOR = "the last line of the page before";
/** Lines of one reply: at most some 2 MB. */
const LINES = 2_000;

const pageQuery = mapping({
  table: matching(/^usage_records_[a-z0-9_]{1,40}$/, "a table of the month"),
  after: v.optional(matching(/^\{.{1,200}\}$/, CURSOR)),
});

const manifestBody = v.looseObject({
  month: v.string(),
  tables: v.array(
    v.looseObject({
      name: v.string(),
      rows: whole(0, Number.MAX_SAFE_INTEGER),
      digest: matching(/^\d{1,40}$/, "a sum of digests"),
    }),
  ),
});

/** Routes that take the records of old months out of the ledger. The client writes the files: see cli/archive-file.ts. */
export function archiveRoutes(services: Services): OperatorRoute[] {
  const { operations, clock } = services;

  /** Returns why a month cannot be archived now; undefined if it can. */
  function refusalOf(month: string): Refusal | undefined {
    if (!MONTH.test(month)) return refuse.badRequest(`month: ${MONTHS}.`, "month");
    const { monthsKept } = services.config.stores;
    if (monthsKept === undefined) {
      return refuse.conflict(
        "The config keeps all months: set stores.months_kept to the number of months that must stay.",
        { code: "month_kept" },
      );
    }
    const now = new Date(clock.now());
    const firstKept = now.getUTCFullYear() * 12 + now.getUTCMonth() - monthsKept;
    const [year = 0, number = 0] = month.split("-").map(Number);
    if (year * 12 + number - 1 < firstKept) return undefined;
    return refuse.conflict(
      `${month} must stay: stores.months_kept is ${monthsKept}. Archive an older month.`,
      { code: "month_kept" },
    );
  }

  const monthIn = (params: Readonly<Record<string, string>>) => params["month"] ?? "";
  const noMonth = (month: string) =>
    refuse.notFound(`The ledger has no month ${month}: ${MONTHS}.`, { param: "month" });

  return [
    {
      method: "GET",
      path: "/archive",
      async handle() {
        const months = await operations.current.archive.months();
        return done(
          months.map(({ month, state, rows, bytes }) => ({
            ...{ month, state, rows: Number(rows), bytes: Number(bytes) },
            can_be_archived: state !== "dropped" && refusalOf(month) === undefined,
          })),
        );
      },
    },
    {
      method: "GET",
      path: "/archive/:month",
      async handle({ params }) {
        const month = monthIn(params);
        const known = (await operations.current.archive.months()).find(
          (each) => each.month === month,
        );
        if (known === undefined) return noMonth(month);
        const tables = await operations.current.archive.tables(month);
        const listed = tables.map(({ name, rows, digest }) => {
          return { name, rows: Number(rows), digest };
        });
        return done({ month, state: known.state, tables: listed });
      },
    },
    {
      method: "POST",
      path: "/archive/:month/close",
      right: "operations",
      async handle({ params }) {
        const month = monthIn(params);
        const refusal = refusalOf(month);
        if (refusal) return refusal;
        const result = await operations.current.archive.close(month);
        return result === "no_month" ? noMonth(month) : done({ month, state: "closed" });
      },
    },
    {
      method: "POST",
      path: "/archive/:month/reopen",
      right: "operations",
      async handle({ params }) {
        const month = monthIn(params);
        if (await operations.current.archive.reopen(month)) return done({ month, state: "open" });
        return refuse.conflict(`${month} is not closed. Nothing has changed.`, {
          code: "month_not_closed",
        });
      },
    },
    {
      method: "GET",
      path: "/archive/:month/lines",
      right: "customers",
      handle: reading(pageQuery, async (wanted) => {
        return done({
          lines: await operations.current.archive.lines(wanted.table, wanted.after ?? null, LINES),
        });
      }),
    },
    {
      // A GET, because it moves no money: it only stores which rows it has added up.
      method: "GET",
      path: "/archive/:month/sums",
      handle: async ({ params }) =>
        done({ rows: await operations.current.archive.addUp(monthIn(params)) }),
    },
    {
      method: "POST",
      path: "/archive/:month/detach",
      right: "operations",
      handle: reading(manifestBody, async (manifest, { params }) => {
        const month = monthIn(params);
        const refusal = refusalOf(month);
        if (refusal) return refusal;
        const result = await operations.current.archive.detach(month, manifest);
        if (result === "detached") return done({ month, state: "detached" });
        if (result === "no_month") return noMonth(month);
        return refuse.conflict(
          "The rows of the files do not match the ledger. Nothing has changed; export the month again.",
          { code: "archive_differs" },
        );
      }),
    },
    {
      method: "POST",
      path: "/archive/:month/drop",
      right: "owner",
      async handle({ params }) {
        const month = monthIn(params);
        const state = await operations.current.archive.drop(month);
        if (state === "dropped") return done({ month, state });
        return refuse.conflict(`${month} is ${state}: export it first. Nothing has changed.`, {
          code: "month_not_detached",
        });
      },
    },
  ];
}
