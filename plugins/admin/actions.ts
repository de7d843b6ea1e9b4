import {
  done,
  isRefusal,
  type OperatorRoute,
  readQuery,
  type Services,
} from "../../core/plugin/index.ts";
import { actionPage } from "./input.ts";

/** Route that lists the audit trail, newest first. */
export function actionRoutes({ operatorActions }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/actions",
      async handle({ query }) {
        const page = readQuery(actionPage, query);
        if (isRefusal(page)) return page;
        const { limit, before, account } = page;
        const actions = await operatorActions.list({ limit, before, accountId: account });
        return done(
          actions.map(({ id, at, operator, remoteAddress, action, accountId, details, status }) => {
            const { reason = null, ...rest } = details;
            return {
              id: String(id),
              at: at.toISOString(),
              operator,
              remote_address: remoteAddress,
              action,
              account_id: accountId,
              reason,
              details: rest,
              status,
            };
          }),
        );
      },
    },
  ];
}
