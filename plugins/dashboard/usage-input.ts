import {
  dayOf,
  endOfDay,
  isId,
  type Refusal,
  refuse,
  rowLimit,
  type Services,
  startOfDay,
  v,
} from "../../core/plugin/index.ts";

type UsageBooks = Services["usage"];
export type UsageFilter = Parameters<UsageBooks["refused"]>[1];
export type UsageCursor = NonNullable<Parameters<UsageBooks["page"]>[0]["before"]>;

const DAY_MS = 86_400_000;
const PAGE_MAX = 200;
const PAGE_DEFAULT = 50;

const MOMENT = "a day (2026-11-21, in Vietnam) or a time (2026-11-21T08:30:00Z)";
const DAY_FORM = /^\d{4}-\d\d-\d\d$/;
const TIME_FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Parses a time or a day in Vietnam. A day means its start or, as the end of a period, the start of
 * the next day.
 */
function moment(isEnd: boolean) {
  return v.pipe(
    v.string(MOMENT),
    v.check((text) => DAY_FORM.test(text) || TIME_FORM.test(text), MOMENT),
    v.transform((text) => {
      if (!DAY_FORM.test(text)) return new Date(text);
      return isEnd ? endOfDay(text) : startOfDay(text);
    }),
    v.check((date) => date.getTime() >= 0 && date.getTime() < Date.UTC(2200, 0), MOMENT),
  );
}

const KEY = "the id of a key";
const MEMBER = "the id of a member of your team";
const STATUS = "ok, failed, or a status from 100 to 599";
const MODEL = "the id of a model";
const BEFORE = "the time and the call id of a record, separated by a comma";

const filter = {
  from: v.optional(moment(false)),
  to: v.optional(moment(true)),
  // Excludes control characters: Postgres refuses a statement that contains NUL.
  model: v.optional(v.pipe(v.string(MODEL), v.regex(/^\P{C}{1,200}$/u, MODEL))),
  key: v.optional(v.pipe(v.string(KEY), v.check(isId, KEY))),
  member: v.optional(v.pipe(v.string(MEMBER), v.check(isId, MEMBER))),
  status: v.optional(
    v.pipe(
      v.string(STATUS),
      v.regex(/^(?:ok|failed|[1-5]\d\d)$/, STATUS),
      v.transform((text) => (text === "ok" || text === "failed" ? text : Number(text))),
    ),
  ),
};

export const refusedInput = v.strictObject(filter);

export const usagePage = v.strictObject({
  ...filter,
  limit: rowLimit(PAGE_DEFAULT, PAGE_MAX),
  before: v.optional(
    v.pipe(
      v.string(BEFORE),
      v.transform((text): UsageCursor => {
        const [at = "", callId = ""] = text.split(",");
        return { at: new Date(TIME_FORM.test(at) ? at : Number.NaN), callId };
      }),
      v.check(({ at, callId }) => at.getTime() >= 0 && isId(callId), BEFORE),
    ),
  ),
});

const DIMENSIONS = ["day", "model", "key"] as const;
type Dimension = (typeof DIMENSIONS)[number];
const BY = `one or more of ${DIMENSIONS.join(", ")}, separated by commas`;

export const summaryInput = v.strictObject({
  ...filter,
  by: v.pipe(
    v.string(BY),
    v.transform((text) => [...new Set(text.split(","))]),
    v.array(v.picklist(DIMENSIONS, BY)),
  ),
});

/** A year, with a leap day. */
const DAYS_MAX = 366;
/** Of 100 keys and 40 models, each day has 4,000 sums by both. */
const DAYS_OF_BOTH_MAX = 14;
/** By day too: a row is returned for each sum. */
const DAYS_OF_BOTH_BY_DAY_MAX = 7;

/**
 * Returns the number of days whose sums fit in a reply, and are quick enough for a page: a year, two weeks of sums by model
 * and key together, or a week of them by day. Those of one model or one key are of a year too.
 */
export function daysSummedMax(
  by: readonly Dimension[],
  { model, key, member }: Pick<UsageFilter, "model" | "key" | "member">,
): number {
  const isOfOne = model !== undefined || key !== undefined || member !== undefined;
  if (isOfOne || !by.includes("model") || !by.includes("key")) return DAYS_MAX;
  return by.includes("day") ? DAYS_OF_BOTH_BY_DAY_MAX : DAYS_OF_BOTH_MAX;
}

/**
 * Returns the first instant of the days that are summed: without `from`, as many as one reply sums. Returns a refusal
 * for more days than that.
 */
export function summedFrom(
  by: readonly Dimension[],
  filter: UsageFilter,
  nowMs: number,
): Date | Refusal {
  const daysMax = daysSummedMax(by, filter);
  const lastDay = startOfDay(dayOf(new Date((filter.to?.getTime() ?? nowMs + 1) - 1)));
  const earliest = new Date(lastDay.getTime() - (daysMax - 1) * DAY_MS);
  const from = filter.from ?? earliest;
  if (startOfDay(dayOf(from)) >= earliest) return from;
  const what = daysMax === daysSummedMax([], {}) ? "sums" : "sums by model and key";
  return refuse.badRequest(`from: ${what} are of at most ${daysMax} days; ask for parts.`, {
    param: "from",
    code: "period_too_long",
  });
}

/**
 * `comma` writes 1,5 and separates fields by semicolons, as Excel expects in locales such as
 * Vietnamese.
 */
const decimal = v.optional(v.picklist(["point", "comma"], "point or comma"), "point");

/** The filter of a CSV export and its number format. */
export const exportInput = v.strictObject({ ...filter, decimal });

const MONTH = "a month (2026-11, in Vietnam)";

/** The month of a statement, as its text and as its first instant and the first one after it. */
export const statementInput = v.pipe(
  v.strictObject({
    month: v.pipe(v.string(MONTH), v.regex(/^20\d\d-(?:0[1-9]|1[0-2])$/, MONTH)),
    decimal,
  }),
  v.transform(({ month, decimal }) => {
    const next = new Date(Date.parse(`${month}-01`));
    next.setUTCMonth(next.getUTCMonth() + 1);
    const from = startOfDay(`${month}-01`);
    return { month, decimal, from, to: startOfDay(next.toISOString().slice(0, 10)) };
  }),
);
