import * as v from "valibot";
import { mapping, matching } from "../../core/config/fields.ts";
import { parseVnd } from "../../core/money.ts";
import { invalidRequest, type Refusal } from "../../core/refusal.ts";

const EMAIL = "an e-mail address of at most 254 characters";
const NAME = "a name of 1 to 100 characters on one line";
const REFERENCE = "a reference of 1 to 200 characters on one line";
const REASON = "a reason of 1 to 500 characters on one line";
const AMOUNT = 'an amount in đ with at most 6 decimals, such as "50000" or "-0.5", and not 0';
const LIMIT = "a whole number from 1 to 1000";
const BEFORE = "`at,call_id` of the last record of the page before";

/** Up to 15 significant digits a JSON number says exactly what was written; beyond, only a string does. */
const EXACT_FRACTION_MAX = 1e9;

export const newAccount = mapping({
  email: v.pipe(
    v.string(EMAIL),
    v.trim(),
    v.toLowerCase(),
    v.maxLength(254, EMAIL),
    v.email(EMAIL),
  ),
});

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

/** Whether it can be the id of anything here; the ledger would choke on other text. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** The JSON body of a request, as the schema makes it. */
export function readBody<const T extends v.GenericSchema>(
  schema: T,
  body: Buffer,
): v.InferOutput<T> | Refusal {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return invalidRequest(
      "The body is not JSON: send an object, with content-type application/json.",
    );
  }
  return read(schema, value, "The body");
}

/** The query of a request, as the schema makes it; a repeated name counts once, with its last value. */
export function readQuery<const T extends v.GenericSchema>(
  schema: T,
  query: URLSearchParams,
): v.InferOutput<T> | Refusal {
  return read(schema, Object.fromEntries(query), "The query");
}

function read<const T extends v.GenericSchema>(
  schema: T,
  value: unknown,
  whole: string,
): v.InferOutput<T> | Refusal {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const key = issue.path?.[0]?.key;
  if (key === undefined) return invalidRequest(`${whole} must be ${issue.message}.`);
  const param = String(key).slice(0, 64);
  if (issue.expected === "never") {
    return invalidRequest(`${param}: there is no such field; there are ${issue.message}.`, param);
  }
  return invalidRequest(`${param}: expected ${issue.message}.`, param);
}

/** Text that fits on one line: no control characters, nothing that UTF-8 cannot hold. */
function line(charactersMax: number, expected: string) {
  return v.pipe(
    v.string(expected),
    v.trim(),
    v.maxLength(charactersMax, expected),
    v.regex(/^\P{C}+$/u, expected),
  );
}

function exactText(amount: number): string {
  const isExact = Number.isSafeInteger(amount) || Math.abs(amount) < EXACT_FRACTION_MAX;
  return isExact ? String(amount) : "";
}
