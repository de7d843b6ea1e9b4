import {
  type CustomerRoute,
  done,
  formatVnd,
  isRefusal,
  readQuery,
  type Services,
} from "../../core/plugin/index.ts";
import { type Statement, statementCsv } from "./csv.ts";
import { statementInput } from "./usage-input.ts";

/** Routes for a customer's money: every movement and each day's charges, as a page and as a CSV file. */
export function moneyRoutes({ usage }: Services): CustomerRoute[] {
  return [
    {
      method: "GET",
      path: "/money",
      async handle({ query }, { accountId }) {
        const input = readQuery(statementInput, query);
        if (isRefusal(input)) return input;
        const found = await usage.statement(accountId, input.from, input.to);
        return done({
          opening_vnd: formatVnd(found.openingMicroVnd),
          closing_vnd: formatVnd(found.closingMicroVnd),
          rows: found.rows.map(rowJson),
          cut: found.isCut,
        });
      },
    },
    {
      method: "GET",
      path: "/money.csv",
      async handle({ query }, { accountId }) {
        const input = readQuery(statementInput, query);
        if (isRefusal(input)) return input;
        const { from, to, month, decimal } = input;
        return {
          status: 200,
          headers: [
            "content-type",
            "text/csv; charset=utf-8",
            "content-disposition",
            `attachment; filename="money-${month}.csv"`,
            "cache-control",
            "no-store",
            "x-content-type-options",
            "nosniff",
          ],
          body: statementCsv(await usage.statement(accountId, from, to), `${month}-01`, decimal),
        };
      },
    },
  ];
}

function rowJson(row: Statement["rows"][number]): object {
  return {
    at: row.at,
    day: row.day,
    kind: row.kind,
    reason: row.reason,
    calls: row.calls,
    amount_vnd: formatVnd(row.amountMicroVnd),
    balance_vnd: formatVnd(row.balanceMicroVnd),
  };
}
