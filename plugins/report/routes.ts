import {
  day,
  dayOf,
  done,
  formatVnd,
  isRefusal,
  mapping,
  matching,
  type OperatorRoute,
  oneOf,
  type Refusal,
  readQuery,
  refuse,
  rowLimit,
  type Services,
  v,
} from "../../core/plugin/index.ts";

type Usage = Services["usage"];
type Report = Awaited<ReturnType<Usage["report"]>>;
type By = Parameters<Usage["report"]>[0];

interface Period {
  readonly from: string;
  readonly to: string;
}

type Asked = { readonly [K in keyof Period]?: string | undefined };

const BY = ["day", "model", "provider", "account", "key"] as const satisfies readonly By[];
const maybeDay = v.optional(day(/^2\d{3}-\d\d-\d\d$/));

const asked = mapping({
  by: v.optional(oneOf(BY)),
  from: maybeDay,
  to: maybeDay,
  limit: rowLimit(1_000, 10_000),
});

const ENTRY = "the `entry` of the last movement of the previous page";

/**
 * Routes of the report: sums of a period by one dimension, largest charge first, or without `by` all of it with the money that
 * came in, and what customers have left; and the movements that these sums are of. Days are those of Vietnam; the default is this month.
 */
export function reportRoutes({ usage, accounts, clock }: Services): OperatorRoute[] {
  const movementPage = mapping({
    kind: v.optional(oneOf(usage.movementKinds)),
    from: maybeDay,
    to: maybeDay,
    before: v.optional(
      v.pipe(
        matching(/^\d{1,18}$/, ENTRY),
        v.transform((digits) => BigInt(digits)),
      ),
    ),
    limit: rowLimit(),
  });

  async function named(rows: Report["rows"]): Promise<object[]> {
    const idsOf = (ids: readonly (string | undefined)[]) => ids.filter((id) => id !== undefined);
    const [emails, keys] = await Promise.all([
      accounts.emails(idsOf(rows.map((row) => row.account))),
      accounts.keyNames(idsOf(rows.map((row) => row.key))),
    ]);
    return rows.map((row) => ({
      ...(row.day !== undefined && { day: row.day }),
      ...(row.model !== undefined && { model: row.model }),
      ...(row.provider !== undefined && { provider: row.provider || null }),
      ...(row.account !== undefined && { email: emails.get(row.account) ?? null }),
      ...(row.key !== undefined && { key_name: keys.get(row.key) ?? null }),
      ...sumsJson(row),
      ...(row.account !== undefined && { account_id: row.account }),
      ...(row.key !== undefined && { key_id: row.key }),
    }));
  }

  /** Reads a query and the days that it names. Without `from` they begin with the month of the last one. */
  function readPeriod<Given extends Asked>(
    schema: v.GenericSchema<unknown, Given>,
    query: URLSearchParams,
  ): (Given & Period) | Refusal {
    const given = readQuery(schema, query);
    if (isRefusal(given)) return given;
    const to = given.to ?? dayOf(new Date(clock.now()));
    const from = given.from ?? `${to.slice(0, 7)}-01`;
    if (from <= to) return { ...given, from, to };
    return refuse.badRequest("from: expected a day that is not after `to`.", "from");
  }

  async function whole({ from, to }: Period): Promise<object> {
    const [{ total }, money] = await Promise.all([
      usage.report("provider", from, to, 1),
      usage.money(from, to),
    ]);
    return { from, to, ...sumsJson(total), ...moneyJson(money) };
  }

  return [
    {
      method: "GET",
      path: "/report",
      async handle({ query }) {
        const given = readPeriod(asked, query);
        if (isRefusal(given)) return given;
        const { by, limit, from, to } = given;
        if (by === undefined) return done(await whole(given));
        const { rows, total, isCut } = await usage.report(by, from, to, limit);
        return done({ from, to, cut: isCut, total: [sumsJson(total)], rows: await named(rows) });
      },
    },
    {
      method: "GET",
      path: "/movements",
      async handle({ query }) {
        const given = readPeriod(movementPage, query);
        if (isRefusal(given)) return given;
        const found = await usage.movements(given);
        const emails = await accounts.emails(found.map(({ accountId }) => accountId));
        return done(
          found.map(({ entry, accountId, at, kind, reference, reason, ...amounts }) => ({
            ...{ entry, at: at.toISOString(), kind, amount_vnd: formatVnd(amounts.amountMicroVnd) },
            ...{ email: emails.get(accountId) ?? null, reference, reason },
            ...{ balance_vnd: formatVnd(amounts.balanceMicroVnd), account_id: accountId },
          })),
        );
      },
    },
  ];
}

/** Returns sums in the report's words. Cost and margin are of the calls whose cost is known; null if there are none. */
function sumsJson(sums: Report["total"]): object {
  const { costedCalls, costedChargedMicroVnd, providerCostMicroVnd } = sums;
  const margin = costedChargedMicroVnd - providerCostMicroVnd;
  const isKnown = costedCalls > 0;
  return {
    revenue_vnd: formatVnd(sums.chargedMicroVnd),
    cost_vnd: isKnown ? formatVnd(providerCostMicroVnd) : null,
    margin_vnd: isKnown ? formatVnd(margin) : null,
    margin_percent:
      isKnown && costedChargedMicroVnd > 0n
        ? Number((margin * 10_000n) / costedChargedMicroVnd) / 100
        : null,
    calls: sums.calls,
    failed_calls: sums.failedCalls,
    input_tokens: sums.inputTokens,
    cache_read_tokens: sums.cacheReadTokens,
    cache_write_tokens: sums.cacheWriteTokens,
    output_tokens: sums.outputTokens,
    images: sums.images,
    unknown_cost_calls: sums.calls - costedCalls,
    below_cost_calls: sums.belowCostCalls,
    below_cost_vnd: formatVnd(sums.belowCostMicroVnd),
  };
}

/** Returns the movements of a period by their kind, and what customers had left at its end. */
function moneyJson(money: Awaited<ReturnType<Usage["money"]>>): object {
  return {
    transfers_vnd: formatVnd(money.transfer),
    credits_vnd: formatVnd(money.credit),
    bonuses_vnd: formatVnd(money.bonus),
    vouchers_vnd: formatVnd(money.voucher),
    taken_back_vnd: formatVnd(money.taken_back),
    refunds_vnd: formatVnd(money.refund),
    adjustments_vnd: formatVnd(money.adjustment),
    owed_vnd: formatVnd(money.owed),
    owed_gifts_vnd: formatVnd(money.owedGifts),
    gifts_spent_vnd: formatVnd(money.giftsSpent),
  };
}
