import {
  dayOf,
  formatVnd,
  isRefusal,
  oneOf,
  parseVnd,
  startOfDay,
  v,
} from "../../core/plugin/index.ts";
import { daysBefore } from "./own.ts";
import {
  type Asked,
  type Caller,
  instant,
  keyOf,
  limitsOf,
  type Question,
  walletOf,
} from "./question.ts";

/** An amount as other gateways write it: a number of their currency, here đồng. One credit is one đồng. */
const amount = v.pipe(v.number(), v.description("An amount in đồng (VND)."));
const NO_END = new Date(0).toISOString();
const hundredths = v.pipe(v.number(), v.description("An amount in hundredths of a đồng."));

const nothing = v.literal(0);

const openRouterKey = v.strictObject({
  data: v.strictObject({
    label: v.string(),
    limit: v.nullable(amount),
    limit_remaining: v.nullable(amount),
    limit_reset: v.nullable(oneOf(["daily", "monthly"])),
    include_byok_in_limit: v.boolean(),
    usage: amount,
    usage_daily: amount,
    usage_weekly: amount,
    usage_monthly: amount,
    byok_usage: nothing,
    byok_usage_daily: nothing,
    byok_usage_weekly: nothing,
    byok_usage_monthly: nothing,
    is_free_tier: v.boolean(),
    is_management_key: v.boolean(),
    is_provisioning_key: v.boolean(),
    expires_at: v.nullable(instant),
    rate_limit: v.strictObject({ requests: v.number(), interval: v.string(), note: v.string() }),
  }),
});

/**
 * The questions that tools for other gateways ask: OpenRouter's, and the former ones of OpenAI, which one-api and new-api
 * also answer. All amounts are numbers of đồng, whatever the name of a field says: tools only subtract and show them.
 */
export function questionsOfOthers(asked: Asked): Question[] {
  const key = {
    summary: "This key, as OpenRouter shows it",
    forMembers: true,
    reply: openRouterKey,
    answer: (_: unknown, caller: Caller) => openRouterKeyOf(asked, caller),
  };
  return [
    { path: "/api/v1/key", ...key },
    { path: "/api/v1/auth/key", ...key, summary: `${key.summary} at its former address` },
    {
      path: "/api/v1/credits",
      summary: "What was ever credited and used, as OpenRouter shows it",
      reply: v.strictObject({
        data: v.strictObject({ total_credits: amount, total_usage: amount }),
      }),
      async answer(_, caller) {
        const { granted, used } = await creditsOf(asked, caller);
        return { data: { total_credits: numberOf(granted), total_usage: numberOf(used) } };
      },
    },
    {
      path: "/v1/dashboard/billing/subscription",
      summary: "What was ever credited, as OpenAI showed a limit",
      reply: v.strictObject({
        object: v.literal("billing_subscription"),
        has_payment_method: v.boolean(),
        soft_limit_usd: amount,
        hard_limit_usd: amount,
        system_hard_limit_usd: amount,
        access_until: v.pipe(
          v.number(),
          v.description("In seconds since 1970; 0: the key has no end."),
        ),
      }),
      async answer(_, caller) {
        const [key, credits] = await Promise.all([keyOf(asked, caller), creditsOf(asked, caller)]);
        if (isRefusal(key)) return key;
        const limit = numberOf(credits.granted);
        return {
          object: "billing_subscription",
          // Tools count usage from the first day of the month else.
          has_payment_method: true,
          soft_limit_usd: limit,
          hard_limit_usd: limit,
          system_hard_limit_usd: limit,
          access_until: Math.floor(Date.parse(key.limits.ends_at ?? NO_END) / 1000),
        };
      },
    },
    {
      path: "/v1/dashboard/billing/usage",
      summary: "What was ever used, as OpenAI showed it",
      reply: v.strictObject({ object: v.literal("list"), total_usage: hundredths }),
      async answer(_, caller) {
        const { used } = await creditsOf(asked, caller);
        return { object: "list", total_usage: numberOf(used * 100n) };
      },
    },
    {
      path: "/v1/dashboard/billing/credit_grants",
      summary: "What was credited, used and is left, as OpenAI showed it",
      reply: v.strictObject({
        object: v.literal("credit_summary"),
        total_granted: amount,
        total_used: amount,
        total_available: amount,
      }),
      async answer(_, caller) {
        const { granted, used } = await creditsOf(asked, caller);
        return {
          object: "credit_summary",
          total_granted: numberOf(granted),
          total_used: numberOf(used),
          total_available: numberOf(granted - used),
        };
      },
    },
  ];
}

/**
 * Returns what an account ever used, and that and what is left together, in µđ. Money that is held for running calls is
 * not used yet.
 */
async function creditsOf(asked: Asked, caller: Caller) {
  const { total } = await asked.usage.sums(caller.accountId, ["model"], {});
  const wallet = await walletOf(asked, caller);
  const used = total.chargedMicroVnd + BigInt(wallet.uncommittedMicroVnd);
  return { used, granted: total.chargedMicroVnd + BigInt(wallet.balanceMicroVnd) };
}

/** Returns the budget of a key that has the least left, as OpenRouter shows the one that a key has there. */
async function tightestOf(asked: Asked, key: Parameters<typeof limitsOf>[1]) {
  const { budgets } = await limitsOf(asked, key);
  const [tightest] = budgets
    .map(({ period, ...of }) => ({
      period,
      limit: micro(of.limit_vnd),
      spent: micro(of.spent_vnd),
    }))
    .sort((one, other) => Number(one.limit - one.spent - (other.limit - other.spent)));
  if (!tightest) return { limit: null, limit_remaining: null, limit_reset: null };
  const { limit, spent, period } = tightest;
  return {
    limit: numberOf(limit),
    limit_remaining: numberOf(limit > spent ? limit - spent : 0n),
    limit_reset: ({ day: "daily", month: "monthly", total: null } as const)[period],
  };
}

function micro(vnd: string): bigint {
  return parseVnd(vnd) ?? 0n;
}

async function openRouterKeyOf(asked: Asked, caller: Caller) {
  const { usage, clock } = asked;
  const { accountId, keyId } = caller;
  const today = dayOf(new Date(clock.now()));
  // A week begins on Monday, as at OpenRouter; its days are those of UTC, ours those of Vietnam.
  const monday = daysBefore(today, (new Date(today).getUTCDay() + 6) % 7);
  const first = `${today.slice(0, 7)}-01`;
  const from = startOfDay(monday < first ? monday : first);
  const [key, [used], { sums }] = await Promise.all([
    keyOf(asked, caller),
    usage.byKey(accountId, [keyId]),
    usage.sums(accountId, ["day"], { from, key: keyId }),
  ]);
  if (isRefusal(key)) return key;
  const since = (day: string) =>
    numberOf(
      sums.reduce((sum, one) => sum + (one.day && one.day >= day ? one.chargedMicroVnd : 0n), 0n),
    );
  return {
    data: {
      label: key.name,
      ...(await tightestOf(asked, key)),
      include_byok_in_limit: false,
      usage: numberOf(used?.chargedMicroVnd ?? 0n),
      usage_daily: since(today),
      usage_weekly: since(monday),
      usage_monthly: since(first),
      byok_usage: 0,
      byok_usage_daily: 0,
      byok_usage_weekly: 0,
      byok_usage_monthly: 0,
      is_free_tier: false,
      is_management_key: false,
      is_provisioning_key: false,
      expires_at: key.limits.ends_at ?? null,
      rate_limit: { requests: -1, interval: "10s", note: "Not used: see x-ratelimit headers." },
    },
  };
}

/** Returns an amount in đồng as a number, the nearest to it. */
function numberOf(microVnd: bigint): number {
  return Number(formatVnd(microVnd));
}
