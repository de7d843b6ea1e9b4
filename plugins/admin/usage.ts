import {
  done,
  isId,
  type OperatorRoute,
  reading,
  type Services,
  usageJson,
} from "../../core/plugin/index.ts";
import { usagePage } from "./input.ts";
import { unknownAccount } from "./unknown.ts";

/**
 * Route that lists the calls of an account, newest first. A page has `limit` records; the next one is `before` the `at`
 * and `call_id` of the last record, joined by a comma.
 */
export function usageRoutes({ accounts, operations }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/accounts/:account/usage",
      handle: reading(usagePage, async (page, { params }) => {
        const accountId = params["account"] ?? "";
        if (!isId(accountId)) return unknownAccount(accountId);
        const { limit, before } = page;
        const records = await operations.current.usage({
          accountId,
          limit,
          ...(before && { before }),
        });
        if (records.length === 0 && !(await accounts.find(accountId))) {
          return unknownAccount(accountId);
        }
        return done(records.map((record) => usageJson(record, "admin")));
      }),
    },
  ];
}
