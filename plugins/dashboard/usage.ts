import {
  type CustomerRoute,
  done,
  isId,
  isRefusal,
  readQuery,
  refuse,
  type Services,
} from "../../core/contract/index.ts";
import { summaryInput, usagePage } from "./usage-input.ts";
import { callById, callPage, recordJson } from "./usage-records.ts";
import { usageSummary } from "./usage-summary.ts";

/** What a customer has called and what it cost: pages of records, sums, and single calls. */
export function usageRoutes({ database }: Services): CustomerRoute[] {
  return [
    {
      method: "GET",
      path: "/usage",
      async handle({ query }, { accountId }) {
        const input = readQuery(usagePage, query);
        if (isRefusal(input)) return input;
        const { limit, before, ...filter } = input;
        const records = await callPage(database, accountId, filter, limit, before);
        const last = records.length === limit ? records.at(-1) : undefined;
        return done({
          data: records.map(recordJson),
          next: last ? `${last.at.toISOString()},${last.callId}` : null,
        });
      },
    },
    {
      method: "GET",
      path: "/usage/summary",
      async handle({ query }, { accountId }) {
        const input = readQuery(summaryInput, query);
        if (isRefusal(input)) return input;
        const { by, ...filter } = input;
        return done({ data: await usageSummary(database, accountId, by, filter) });
      },
    },
    {
      method: "GET",
      path: "/calls/:id",
      async handle({ params }, { accountId }) {
        const id = params["id"] ?? "";
        const record = isId(id) ? await callById(database, accountId, id) : undefined;
        if (record) return done(recordJson(record));
        return refuse.notFound("There is no such call of yours, or it has not been recorded yet.");
      },
    },
  ];
}
