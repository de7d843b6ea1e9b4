import {
  confirmation,
  day,
  email,
  endOfDay,
  isId,
  keyLimits,
  line,
  mapping,
  matching,
  oneOf,
  ownReferences,
  parseVnd,
  rowLimit,
  startOfDay,
  v,
  whole,
} from "../../core/plugin/index.ts";

import { ambiguityOf } from "./ambiguous-amount.ts";

const NAME = "a name of 1 to 100 characters on one line";
const REFERENCE = `a reference of 1 to 200 characters on one line that begins with none of ${ownReferences.prefixes}`;
const REASON = "a reason of 1 to 500 characters on one line";
const AMOUNT = 'an amount in đ with at most 6 decimals, such as "50000" or "-0.5", and not 0';
const SECONDS = "a whole number of seconds from 1 to 999999999";
const DAY_OR_TIME = "a day, such as 2026-11-30, or a time in Vietnam, such as 2026-11-30T09:00";
const ACCOUNT = "the id of an account";
const KEY = "the id of a key";
const STATUS = "failed, or a status such as 429";
const BPS = "a whole number of basis points (0.01 %) from 0 to 10000";
const PER_MINUTE =
  "a whole number of calls from 0 (not limited) to 1000000, or null for the default";
const ACTION = "the id of the last action of the page before";
const BEFORE = "`at,call_id` of the last record of the page before";

/** A JSON number is exact up to 15 significant digits. Fractions of larger amounts must be strings. */
const EXACT_FRACTION_MAX = 1e9;

export const newAccount = mapping({ email });

export const newKey = mapping({
  name: line(100, NAME),
  limits: v.optional(mapping(keyLimits.fields), {}),
});

const limit = rowLimit();
const accountId = v.optional(v.pipe(v.string(ACCOUNT), v.check(isId, ACCOUNT)));
const reason = line(500, REASON);
const maybeReason = v.optional(v.nullable(reason));

export const accountPage = mapping({
  query: v.optional(line(254, "a text of 1 to 254 characters on one line")),
  after: accountId,
  limit,
  balances: v.optional(v.picklist(["true", "false"])),
  /** Only accounts with money, or with budgets in use. */
  having: v.optional(oneOf(["balance", "budgets"])),
});

export const keySearch = mapping({
  query: line(254, "the id of a key, or its first characters"),
});

export const because = mapping({ reason });

export const discount = mapping({ discount_bps: whole(0, 10_000, BPS), reason: maybeReason });

export const keyLimit = mapping({
  requests_per_minute: v.nullable(whole(0, 1_000_000, PER_MINUTE)),
  reason: maybeReason,
});

export const keyChange = mapping({ ...keyLimits.fields, reason: maybeReason });

export const actionPage = mapping({
  account: accountId,
  operator: v.optional(line(254, "a person's address, or the name of a token")),
  language: v.optional(oneOf(["en", "vi"]), "en"),
  before: v.optional(
    v.pipe(
      matching(/^\d{1,18}$/, ACTION),
      v.transform((text) => BigInt(text)),
    ),
  ),
  limit,
});

const amount = v.pipe(
  v.union([v.string(AMOUNT), v.number(AMOUNT)], AMOUNT),
  v.transform((given) => (typeof given === "number" ? exactText(given) : given)),
  v.check(
    (text) => ambiguityOf(text) === undefined,
    ({ input }) => `another amount: ${ambiguityOf(input)}`,
  ),
  v.transform((text) => parseVnd(text) ?? 0n),
  v.check((microVnd) => microVnd !== 0n, AMOUNT),
);

/** References that name a movement's cause are the gateway's own. */
const reference = v.pipe(
  line(200, REFERENCE),
  v.check((text) => !ownReferences.has(text), REFERENCE),
);

const confirm_above_vnd = confirmation.bound;

export const adjustment = mapping({ amount_vnd: amount, reference, reason, confirm_above_vnd });

const purse = line(200, "the name of a purse");

export const driftQuery = mapping({
  purse: v.optional(v.nullable(purse), null),
  language: v.optional(oneOf(["en", "vi"]), "en"),
});

export const driftMend = mapping({
  purse: v.optional(v.nullable(purse), null),
  difference_vnd: amount,
  reason: v.optional(reason, "drift"),
  confirm_above_vnd,
});

const total = v.optional(
  v.pipe(
    amount,
    v.check((microVnd) => microVnd > 0n, "an amount in đ above 0"),
  ),
);

export const refund = mapping({
  call: v.optional(v.pipe(v.string(), v.check(isId, "the id of a call"))),
  top_up: v.optional(line(200, "the reference of a top-up")),
  amount_vnd: total,
  as_much_as_there_is: v.optional(v.boolean("true or false"), false),
  reason,
  confirm_above_vnd,
});

export const movement = mapping({
  amount_vnd: amount,
  reference,
  reason: maybeReason,
  confirm_above_vnd,
});

export const quarantinePage = mapping({ limit });

export const holdPage = mapping({ limit });

const wantedDay = day();

export const ledgerQuery = mapping({
  from: v.optional(wantedDay, "2020-01-01"),
  to: v.optional(wantedDay),
});

export const reconcileQuery = mapping({
  older_than_seconds: v.optional(
    v.pipe(matching(/^\d{1,9}$/, SECONDS), v.transform(Number), v.minValue(1, SECONDS)),
  ),
});

export const proofQuery = mapping({ restart: v.optional(v.picklist(["true", "false"])) });

const before = v.optional(
  v.pipe(
    matching(/^[^,]{1,40},[0-9a-f-]{36}$/, BEFORE),
    v.transform((text) => {
      const [at = "", callId = ""] = text.split(",");
      return { at: new Date(at), callId };
    }),
    v.check(({ at, callId }) => !Number.isNaN(at.getTime()) && isId(callId), BEFORE),
  ),
);

export const usagePage = mapping({ limit, before });

const name = v.optional(line(200, "a name of 1 to 200 characters on one line"));

/** The start and the end of a day in Vietnam, or one instant as both. */
const period = v.pipe(
  matching(/^2\d{3}-\d\d-\d\d(?:T\d\d:\d\d)?$/, DAY_OR_TIME),
  v.check(
    (text) => v.is(wantedDay, text.slice(0, 10)) && !Number.isNaN(Date.parse(text)),
    DAY_OR_TIME,
  ),
  v.transform((text) => {
    if (!text.includes("T")) return { start: startOfDay(text), end: endOfDay(text) };
    const at = new Date(`${text}+07:00`);
    return { start: at, end: at };
  }),
);

export const callSearch = mapping({
  account: accountId,
  key: v.optional(v.pipe(v.string(KEY), v.check(isId, KEY))),
  model: name,
  upstream: name,
  status: v.optional(
    v.pipe(
      matching(/^(?:failed|[1-5]\d\d)$/, STATUS),
      v.transform((text) => (text === "failed" ? text : Number(text))),
    ),
  ),
  cost: v.optional(oneOf(["unknown", "below"])),
  from: v.optional(period),
  to: v.optional(period),
  limit,
  before,
});

function exactText(amount: number): string {
  const isExact = Number.isSafeInteger(amount) || Math.abs(amount) < EXACT_FRACTION_MAX;
  return isExact ? String(amount) : "";
}
