import { day, mapping, matching, named, v } from "../../core/plugin/index.ts";

const MILLION = 1_000_000;
const AMOUNT = "a number from 0 to 1000000 with at most six decimals";
const RATE = "đ for one unit: a number from 0.000001 to 1000000 with at most six decimals";
const DAY = /^20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const CURRENCY = /^[A-Z]{3}$/;

/** A decimal of at most six places. */
function decimal(min: number, expected: string) {
  return v.pipe(
    v.number(expected),
    v.minValue(min, expected),
    v.maxValue(MILLION, expected),
    v.check((amount) => millionths(amount) / MILLION === amount, expected),
  );
}

const amount = decimal(0, AMOUNT);
const optional = v.optional(amount);

/** The costs of a model at a provider, in a currency. Tokens are per 1,000,000; the cached part of the input is billed once. */
const vector = v.pipe(
  mapping({
    currency: v.optional(v.pipe(v.string("a currency"), v.regex(CURRENCY, "a currency")), "USD"),
    input: optional,
    /** Default: the cost of the input. */
    cached_input: optional,
    /** Default: the cost of the input. */
    cache_write: optional,
    output: optional,
    per_call: optional,
    per_image: optional,
    /** By the name of the feature: `{ web_search: 0.01 }`. A use without a cost makes that of its call unknown. */
    per_use: v.optional(
      named(amount, matching(/^[a-z_]{1,40}$/, "the name of a feature"), "a mapping by feature"),
      {},
    ),
  }),
  v.check(
    ({ input, output, cached_input, cache_write }) =>
      (input === undefined) === (output === undefined) &&
      (input !== undefined || (cached_input === undefined && cache_write === undefined)),
    "input and output together; 0 for a model without output",
  ),
  v.check(
    ({ input, per_call, per_image }) =>
      input !== undefined || per_call !== undefined || per_image !== undefined,
    "input and output, per_call or per_image",
  ),
);

const byDay = <const T extends v.GenericSchema>(value: T, expected: string) =>
  named(value, day(DAY, "a day, such as 2026-01-31"), expected);

/** The file of costs: by upstream, its name of the model, and the day (in Vietnam) from which they apply. */
export const costsFile = v.pipe(
  mapping({
    /** đ for one unit of a currency, from a day on. */
    rates: v.optional(
      named(
        byDay(decimal(0.000001, RATE), "a mapping of days to rates"),
        matching(CURRENCY, "a currency, such as USD"),
        "a mapping by currency",
      ),
      {},
    ),
    costs: named(
      named(
        byDay(vector, "a mapping of days to costs"),
        matching(/^[\x21-\x7e]{1,200}$/, "the model's name at the upstream"),
        "a mapping by model",
      ),
      matching(/^.{1,200}$/, "the name of an upstream"),
      "a mapping by upstream",
    ),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { rates, costs } = dataset.value;
    for (const [upstream, models] of Object.entries(costs)) {
      for (const [model, days] of Object.entries(models)) {
        for (const [day, { currency }] of Object.entries(days)) {
          if (currency === "VND" || rates[currency]) continue;
          const input = dataset.value;
          const path = ["costs", upstream, model, day, "currency"].map((key) => ({
            ...({ type: "object", origin: "value" } as const),
            ...{ input, key, value: undefined },
          }));
          const [first, ...rest] = path;
          if (first) {
            addIssue({ message: `a rate of ${currency} in rates`, path: [first, ...rest] });
          }
        }
      }
    }
  }),
);

export type CostsFile = v.InferOutput<typeof costsFile>;
export type Vector = CostsFile["costs"][string][string][string];

/** Returns a decimal of at most six places as a whole number of millionths. */
export function millionths(decimal: number): number {
  return Math.round(decimal * MILLION);
}

/** Returns the value of the last day that is not after `day`; undefined if all are. */
export function valueOn<T>(
  byDay: Readonly<Record<string, T>> | undefined,
  day: string,
): T | undefined {
  let last = "";
  for (const from in byDay) if (from <= day && from > last) last = from;
  return byDay?.[last];
}
