import {
  type CustomerRoute,
  done,
  reading,
  type Services,
  statementJson,
} from "../../core/plugin/index.ts";
import { fileHeaders } from "../page-parts/downloads.ts";
import { statementCsv } from "./csv.ts";
import { statementInput } from "./usage-input.ts";

/**
 * Routes for a customer's money: every movement and each day's charges, as a page and as a CSV file, which has `x-cut: true` if
 * it lacks the oldest.
 */
export function moneyRoutes({ usage }: Services): CustomerRoute[] {
  return [
    {
      method: "GET",
      path: "/money",
      handle: reading(statementInput, async (input, _, { accountId }) => {
        const found = await usage.statement(accountId, input.from, input.to);
        return done(statementJson(found, false));
      }),
    },
    {
      method: "GET",
      path: "/money.csv",
      handle: reading(statementInput, async ({ from, to, month, decimal }, _, { accountId }) => {
        const found = await usage.statement(accountId, from, to);
        return {
          status: 200,
          headers: [
            ...fileHeaders(`money-${month}.csv`),
            ...(found.isCut ? ["x-cut", "true"] : []),
          ],
          body: statementCsv(found, `${month}-01`, decimal),
        };
      }),
    },
  ];
}
