import type { AccountKey, KeyLimitsChange, KeyLimitsJson, Limited } from "../accounts/index.ts";
import { formatVnd } from "../catalogue/amount.ts";
import { matchesModel } from "../catalogue/model-pattern.ts";
import { isAddressRange } from "../process/client-address.ts";
import { day, matching, passing, v, whole } from "../process/options.ts";
import { endOfDay } from "../process/vietnam-day.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { Services } from "./services.ts";

const ITEMS_MAX = 50;
const BOOLEAN = "true or false";
const END =
  "a day, such as 2026-12-31, which is the last one, or a time such as 2026-12-31T17:00:00Z";
const MODELS = `a list of at most ${ITEMS_MAX} ids of models, in which * stands for any characters`;
const ADDRESSES = `a list of at most ${ITEMS_MAX} addresses or networks, such as 203.0.113.7 and 203.0.113.0/24`;

const BUDGET_VND_MAX = 1_000_000_000;
const BUDGET = `a whole number of đ from 0 to ${BUDGET_VND_MAX}`;

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

const lastDay = day();
const end = v.pipe(
  v.string(END),
  v.check(
    (text) => v.is(lastDay, text.slice(0, 10)) && (TIME.test(text) || text.length === 10),
    END,
  ),
  v.transform((text) => (text.length === 10 ? endOfDay(text) : new Date(text))),
  v.check((time) => !Number.isNaN(time.getTime()), END),
  v.transform((time) => time.toISOString()),
);

/** A number, or its digits: other amounts are texts. */
const budget = v.pipe(
  v.union([v.string(BUDGET), v.number(BUDGET)], BUDGET),
  v.transform(String),
  v.regex(/^\d{1,10}$/, BUDGET),
  v.check((digits) => Number(digits) <= BUDGET_VND_MAX, BUDGET),
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
    addresses: limit(list(passing(isAddressRange, ADDRESSES), ADDRESSES)),
    day_vnd: limit(budget),
    month_vnd: limit(budget),
    total_vnd: limit(budget),
    calls_per_minute: limit(whole(1, 1_000_000)),
    calls_at_once: limit(whole(1, 10_000)),
  },

  /** Refuses limits with a model that the catalogue does not have, or an end that is over: probably typing errors. */
  refusal(
    { models, ends_at }: KeyLimitsChange,
    { catalogue, clock }: Pick<Services, "catalogue" | "clock">,
  ): Refusal | undefined {
    if (ends_at != null && Date.parse(ends_at) <= clock.now()) {
      return refuse.badRequest(
        "ends_at: this time is over. Expected a later one; to stop calls at once, use paused.",
        { param: "ends_at", code: "time_is_over" },
      );
    }
    const unknown = models?.find(
      (pattern) => !catalogue.models.some(({ id }) => matchesModel(pattern, id)),
    );
    if (unknown === undefined) return undefined;
    return refuse.badRequest(
      `models: ${unknown} is no model: GET /v1/models lists the ids. * stands for any characters.`,
      { param: "models", code: "unknown_model" },
    );
  },

  /** Refuses a change of nothing, and what `refusal` refuses. */
  changeRefusal(
    change: KeyLimitsChange,
    services: Pick<Services, "catalogue" | "clock">,
  ): Refusal | undefined {
    if (Object.keys(change).length > 0) return this.refusal(change, services);
    return refuse.badRequest("Nothing to change: send at least one limit.");
  },

  /** Returns the limits of a key as every API shows them, with what was spent of its budgets: none once it is revoked. */
  async shown(services: Parts, { id, accountId, status, limits }: AccountKey) {
    if (status === "revoked") return { limits, budgets: [] };
    return {
      limits,
      budgets: await this.budgets(services, accountId, { kind: "key", id }, limits),
    };
  },

  /** Returns the budgets among the limits of a key or a member of this account, with what was spent of them. */
  budgets(
    { accounts, clock, purse }: Parts,
    accountId: string,
    of: Limited,
    limits: KeyLimitsJson,
  ) {
    const budgets = accounts.budgets(of, limits, clock.now()).map(async (one) => {
      const { spentMicroVnd, heldMicroVnd } = await purse(accountId, one.name);
      return {
        period: one.period,
        limit_vnd: formatVnd(one.limitMicroVnd),
        spent_vnd: formatVnd(spentMicroVnd),
        held_vnd: formatVnd(heldMicroVnd),
        ends_at: one.until?.toISOString() ?? null,
      };
    });
    return Promise.all(budgets);
  },
};

type Parts = Pick<Services, "accounts" | "clock" | "purse">;
