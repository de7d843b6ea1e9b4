import {
  day,
  dayOf,
  endOfDay,
  formatVnd,
  isRefusal,
  matching,
  oneOf,
  readQuery,
  refuse,
  type Services,
  startOfDay,
  v,
  walletJson,
} from "../../core/plugin/index.ts";
import {
  type Asked,
  amountVnd,
  type Caller,
  count,
  instant,
  keyOf,
  limitsOf,
  type Question,
  walletOf,
} from "./question.ts";

const DAY_MS = 86_400_000;
/** At most 12,000 sums are read at once: that is 130 models on each of these days. */
const DAYS_MAX = 92;
const DAYS_DEFAULT = 30;
const ROWS_MAX = 1_000;

const LIMIT = `a whole number from 1 to ${ROWS_MAX}`;
const AFTER = "the value of `next` in the reply before";

const maybeDay = (description: string) =>
  v.optional(v.pipe(day(/^20\d\d-\d\d-\d\d$/), v.description(description)));

const usageQuery = v.strictObject({
  from: maybeDay(`The first day, in Vietnam; default: ${DAYS_DEFAULT} days that end with \`to\`.`),
  to: maybeDay("The last day, in Vietnam; default: today."),
  scope: v.optional(
    v.pipe(
      oneOf(["account", "key"]),
      v.description("All keys of the account (of a member of a team: his), or this key."),
    ),
    "account",
  ),
  limit: v.optional(
    v.pipe(
      matching(/^\d{1,4}$/, LIMIT),
      v.check((text) => Number(text) >= 1 && Number(text) <= ROWS_MAX, LIMIT),
      v.description("Maximum number of rows."),
    ),
    "100",
  ),
  after: v.optional(
    v.pipe(
      matching(/^20\d\d-\d\d-\d\d,./, AFTER),
      // Not in the pattern, which OpenAPI shows: some of its tools do not know `\P{C}`.
      v.check((text) => /^.{11}\P{C}{1,200}$/u.test(text), AFTER),
      v.description("`next` of the page before, for the page after it."),
    ),
  ),
});

/** Limits that are left out do not limit. */
const limits = v.strictObject({
  paused: v.optional(v.literal(true)),
  ends_at: v.optional(instant),
  models: v.optional(v.array(v.string())),
  addresses: v.optional(v.array(v.string())),
  day_vnd: v.optional(amountVnd),
  month_vnd: v.optional(amountVnd),
  total_vnd: v.optional(amountVnd),
  calls_per_minute: v.optional(count),
  calls_at_once: v.optional(count),
});

const budget = v.strictObject({
  period: oneOf(["day", "month", "total"]),
  limit_vnd: amountVnd,
  spent_vnd: amountVnd,
  held_vnd: v.pipe(amountVnd, v.description("Held for running calls, in đồng.")),
  ends_at: v.pipe(v.nullable(instant), v.description("When its period ends; null: never.")),
});

const sums = {
  calls: count,
  input_tokens: count,
  output_tokens: count,
  cost_vnd: amountVnd,
};

type Sum = Awaited<ReturnType<Services["usage"]["sums"]>>["total"];

/** The questions of this gateway's own API: amounts are exact. */
export function ownQuestions(asked: Asked): Question[] {
  return [
    {
      path: "/v1/balance",
      summary: "The wallet of this key's account",
      reply: v.strictObject({
        balance_vnd: amountVnd,
        held_vnd: v.pipe(amountVnd, v.description("Held for running calls, in đồng.")),
        available_vnd: v.pipe(amountVnd, v.description("What new calls can spend, in đồng.")),
        pending_vnd: v.pipe(
          amountVnd,
          v.description("Charged for calls that are not recorded yet, in đồng."),
        ),
      }),
      answer: async (_, caller) => walletJson(await walletOf(asked, caller)),
    },
    {
      path: "/v1/usage",
      summary: "Calls, tokens and cost by day and model",
      forMembers: true,
      query: usageQuery,
      reply: v.strictObject({
        scope: oneOf(["account", "key"]),
        from: v.string(),
        to: v.string(),
        data: v.array(v.strictObject({ day: v.string(), model: v.string(), ...sums })),
        total: v.pipe(v.strictObject(sums), v.description("Of all days, on each page.")),
        next: v.pipe(v.nullable(v.string()), v.description("Null on the last page.")),
      }),
      answer: ({ query }, caller) => usageOf(asked, query, caller),
    },
    {
      path: "/v1/key",
      summary: "This key",
      forMembers: true,
      reply: v.strictObject({
        id: v.string(),
        name: v.string(),
        prefix: v.pipe(v.string(), v.description("The first characters of the key.")),
        created_at: instant,
        requests_per_minute: v.pipe(
          v.nullable(count),
          v.description("The key's own limit; null: the gateway's; 0: none."),
        ),
        cost_vnd: amountVnd,
        last_used_at: v.nullable(instant),
        limits,
        budgets: v.pipe(
          v.array(budget),
          v.description("The budgets among its limits, and those of a team's member, as spent."),
        ),
      }),
      answer: (_, caller) => keyJson(asked, caller),
    },
  ];
}

async function usageOf({ usage, clock }: Asked, query: URLSearchParams, caller: Caller) {
  const input = readQuery(usageQuery, query);
  if (isRefusal(input)) return input;
  const { scope, to = dayOf(new Date(clock.now())) } = input;
  const { from = daysBefore(to, DAYS_DEFAULT - 1) } = input;
  const limit = Number(input.limit);
  if (from > to) return refuse.badRequest("from: expected a day that is not after to.", "from");
  if (from < daysBefore(to, DAYS_MAX - 1)) {
    const problem = `from: at most ${DAYS_MAX} days can be asked for at once; ask for parts.`;
    return refuse.badRequest(problem, { param: "from", code: "period_too_long" });
  }
  const filter = {
    from: startOfDay(from),
    to: endOfDay(to),
    ...(scope === "key" && { key: caller.keyId }),
    ...(caller.memberId !== null && { member: caller.memberId }),
  };
  const found = await usage.sums(caller.accountId, ["day", "model"], filter);
  if (found.isCut) {
    const problem = "from: these days have too many models for one request; ask for fewer days.";
    return refuse.badRequest(problem, { param: "from", code: "period_too_long" });
  }
  const { after = "" } = input;
  const rest = found.sums
    .map((sum) => ({ place: `${sum.day},${sum.model}`, sum }))
    .filter(({ place }) => place > after)
    .sort((one, other) => (one.place < other.place ? -1 : 1));
  const page = rest.slice(0, limit);
  return {
    ...{ scope, from, to },
    data: page.map(({ sum }) => ({ day: sum.day, model: sum.model, ...sumJson(sum) })),
    total: sumJson(found.total),
    next: rest.length > limit ? (page.at(-1)?.place ?? null) : null,
  };
}

function sumJson({ calls, inputTokens, outputTokens, chargedMicroVnd }: Sum) {
  return {
    calls,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost_vnd: formatVnd(chargedMicroVnd),
  };
}

async function keyJson(asked: Asked, caller: Caller) {
  const [key, [used]] = await Promise.all([
    keyOf(asked, caller),
    asked.usage.byKey(caller.accountId, [caller.keyId]),
  ]);
  if (isRefusal(key)) return key;
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    created_at: key.createdAt.toISOString(),
    requests_per_minute: key.requestsPerMinute,
    cost_vnd: formatVnd(used?.chargedMicroVnd ?? 0n),
    last_used_at: used?.lastUsedAt.toISOString() ?? null,
    ...(await limitsOf(asked, key)),
  };
}

/** Returns the day that is `days` before another one. */
export function daysBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);
}
