import type { AccountKey, KeyLimitsChange } from "../accounts/index.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { matchesModel } from "../catalogue/model-pattern.ts";
import { isAddressRange } from "../process/client-address.ts";
import { matching, v } from "../process/options.ts";
import { endOfDay } from "../process/vietnam-day.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";

const ITEMS_MAX = 50;
const BOOLEAN = "true or false";
const END =
  "a day, such as 2026-12-31, which is the last one, or a time such as 2026-12-31T17:00:00Z";
const MODELS = `a list of at most ${ITEMS_MAX} ids of models, in which * stands for any characters`;
const ADDRESSES = `a list of at most ${ITEMS_MAX} addresses or networks, such as 203.0.113.7 and 203.0.113.0/24`;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/;

const limit = <const T extends v.GenericSchema>(schema: T) => v.optional(v.nullable(schema));

/** A list, or null for an empty one: it would allow nothing. */
function list<const T extends v.GenericSchema<string, string>>(item: T, expected: string) {
  return v.pipe(
    v.array(item, expected),
    v.maxLength(ITEMS_MAX, expected),
    v.transform((items) => (items.length === 0 ? null : items)),
  );
}

const end = v.pipe(
  v.string(END),
  v.check((text) => DAY.test(text) || TIME.test(text), END),
  v.transform((text) => (DAY.test(text) ? endOfDay(text) : new Date(text))),
  v.check((time) => !Number.isNaN(time.getTime()), END),
  v.transform((time) => time.toISOString()),
);

/** For routes that set or show the limits of API keys. */
export const keyLimits = {
  /** The fields of a request that sets limits: null removes one, and one that is left out stays. */
  fields: {
    paused: limit(
      v.pipe(
        v.boolean(BOOLEAN),
        v.transform((isPaused) => (isPaused ? (true as const) : null)),
      ),
    ),
    ends_at: limit(end),
    models: limit(list(matching(/^[\x21-\x7e]{1,100}$/, MODELS), MODELS)),
    addresses: limit(
      list(v.pipe(v.string(ADDRESSES), v.check(isAddressRange, ADDRESSES)), ADDRESSES),
    ),
  },

  /** Refuses limits with a model that the catalogue does not have: probably a typing error. */
  refusal({ models }: KeyLimitsChange, catalogue: Catalogue): Refusal | undefined {
    const unknown = models?.find(
      (pattern) => !catalogue.models.some(({ id }) => matchesModel(pattern, id)),
    );
    if (unknown === undefined) return undefined;
    return refuse.badRequest(
      `models: ${unknown} is no model: GET /v1/models lists the ids. * stands for any characters.`,
      { param: "models", code: "unknown_model" },
    );
  },

  /** Returns the limits of a key as every API shows them. */
  shown: ({ limits }: AccountKey) => ({ limits }),
};
