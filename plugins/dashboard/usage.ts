import {
  type Customer,
  type CustomerRoute,
  done,
  explainedCall,
  formatVnd,
  isId,
  isRefusal,
  reading,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import { recordJson, withKeyNames } from "./call-record.ts";
import {
  refusedInput,
  summaryInput,
  summedFrom,
  type UsageFilter,
  usagePage,
} from "./usage-input.ts";

/** Routes for a customer's usage: pages of records, sums, refused calls, and single calls. */
export function usageRoutes({ accounts, usage, clock }: Services): CustomerRoute[] {
  const routes: CustomerRoute[] = [
    {
      method: "GET",
      path: "/usage",
      handle: reading(usagePage, async ({ limit, before, ...given }, _, customer) => {
        const { accountId } = customer;
        const filter = seenBy(customer, given);
        const [found, archivedBefore] = await Promise.all([
          // One more says if there is another page.
          usage.page({ accountId, filter, limit: limit + 1, before }),
          usage.archivedBefore(accountId, filter),
        ]);
        const records = await withKeyNames({ accounts }, found.slice(0, limit));
        const last = found.length > limit ? records.at(-1) : undefined;
        return done({
          data: records.map(recordJson),
          next: last ? `${last.at.toISOString()},${last.callId}` : null,
          archived_before: archivedBefore ?? null,
        });
      }),
    },
    {
      method: "GET",
      path: "/usage/summary",
      handle: reading(summaryInput, async ({ by, ...given }, _, customer) => {
        const { accountId } = customer;
        const filter = seenBy(customer, given);
        const from = summedFrom(by, filter, clock.now());
        if (isRefusal(from)) return from;
        const { sums, total, isCut, lacksFailed } = await usage.sums(accountId, by, {
          ...filter,
          from,
        });
        if (lacksFailed) {
          return refuse.badRequest("Too many failed calls for one reply; ask for fewer days.", {
            param: "status",
            code: "too_many_failed",
          });
        }
        return done({ data: sums.map(sumJson), total: totalJson(total), cut: isCut, from });
      }),
    },
    {
      method: "GET",
      path: "/usage/refused",
      handle: reading(refusedInput, async (input, _, customer) => {
        const { counts, last } = await usage.refused(customer.accountId, seenBy(customer, input));
        const names = await accounts.keyNames([...counts, ...last].map(({ keyId }) => keyId));
        const keyOf = (id: string) => ({ key_id: id, key_name: names.get(id) ?? null });
        return done({
          counts: counts.map(({ keyId, lastAt, ...count }) => ({
            ...count,
            ...keyOf(keyId),
            last_at: lastAt,
          })),
          last: last.map(({ callId, keyId, ...call }) => ({
            call_id: callId,
            ...call,
            ...keyOf(keyId),
          })),
        });
      }),
    },
    {
      method: "GET",
      path: "/calls/:id",
      async handle({ params }, { accountId, member }) {
        const id = params["id"] ?? "";
        const found = isId(id) ? await usage.call(accountId, id, member?.id) : undefined;
        if (found) {
          const [named] = await withKeyNames({ accounts }, [found]);
          const explained = explainedCall({ state: "recorded", record: found }, "api");
          return done({ ...explained, key_name: named?.keyName ?? null });
        }
        const archivedBefore = await usage.archivedCall(accountId, id);
        if (archivedBefore) {
          const end = archivedBefore.toISOString();
          return refuse.notFound(`Calls before ${end} are archived: ask the operator for them.`, {
            code: "call_archived",
          });
        }
        return refuse.notFound("Your account has no such call, or it is not recorded yet.");
      },
    },
  ];
  return routes.map((route) => ({ ...route, forMembers: true }));
}

/** Returns a filter that selects only what a customer may see: a member of a team sees his own calls. */
export function seenBy<Filter extends UsageFilter>({ member }: Customer, given: Filter): Filter {
  return member ? { ...given, member: member.id } : given;
}

type UsageSum = Awaited<ReturnType<Services["usage"]["sums"]>>["sums"][number];
type Total = Omit<UsageSum, "day" | "model" | "key">;

/** Returns a sum with only the dimensions that the query asked for. */
function sumJson({ day, model, key, ...sum }: UsageSum): object {
  return {
    ...(day !== undefined && { day }),
    ...(model !== undefined && { model }),
    ...(key !== undefined && { key }),
    ...totalJson(sum),
  };
}

function totalJson({ calls, inputTokens, outputTokens, chargedMicroVnd }: Total): object {
  return {
    calls,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost_vnd: formatVnd(chargedMicroVnd),
  };
}
