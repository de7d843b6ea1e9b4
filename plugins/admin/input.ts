import * as v from "valibot";
import { mapping, matching } from "../../core/config/fields.ts";
import { email, isId, line } from "../../core/http/json-input.ts";
import { parseVnd } from "../../core/money.ts";

const NAME = "a name of 1 to 100 characters on one line";
const REFERENCE = "a reference of 1 to 200 characters on one line";
const REASON = "a reason of 1 to 500 characters on one line";
const AMOUNT = 'an amount in đ with at most 6 decimals, such as "50000" or "-0.5", and not 0';
const LIMIT = "a whole number from 1 to 1000";
const BEFORE = "`at,call_id` of the last record of the page before";

/** Up to 15 significant digits a JSON number says exactly what was written; beyond, only a string does. */
const EXACT_FRACTION_MAX = 1e9;

export const newAccount = mapping({ email });

export const newKey = mapping({ name: line(100, NAME) });

export const movement = mapping({
  amount_vnd: v.pipe(
    v.union([v.string(AMOUNT), v.number(AMOUNT)], AMOUNT),
    v.transform((amount) => (typeof amount === "number" ? exactText(amount) : amount)),
    v.transform((text) => parseVnd(text) ?? 0n),
    v.check((microVnd) => microVnd !== 0n, AMOUNT),
  ),
  reference: line(200, REFERENCE),
  reason: v.optional(v.nullable(line(500, REASON))),
});

export const usagePage = mapping({
  limit: v.optional(
    v.pipe(
      matching(/^\d{1,4}$/, LIMIT),
      v.transform(Number),
      v.minValue(1, LIMIT),
      v.maxValue(1000, LIMIT),
    ),
    "100",
  ),
  before: v.optional(
    v.pipe(
      matching(/^[^,]{1,40},[0-9a-f-]{36}$/, BEFORE),
      v.transform((text) => {
        const [at = "", callId = ""] = text.split(",");
        return { at: new Date(at), callId };
      }),
      v.check(({ at, callId }) => !Number.isNaN(at.getTime()) && isId(callId), BEFORE),
    ),
  ),
});

function exactText(amount: number): string {
  const isExact = Number.isSafeInteger(amount) || Math.abs(amount) < EXACT_FRACTION_MAX;
  return isExact ? String(amount) : "";
}
