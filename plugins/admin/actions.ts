import { done, type OperatorRoute, reading, type Services } from "../../core/plugin/index.ts";
import { actionPage } from "./input.ts";
import { sentenceOf } from "./sentences.ts";

/** Route that lists the audit trail, newest first, each action with a sentence. */
export function actionRoutes({ accounts, operatorActions }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/actions",
      handle: reading(actionPage, async ({ account, language, ...rest }) => {
        const actions = await operatorActions.list({ ...rest, accountId: account });
        const emails = await accounts.emails(actions.flatMap(({ accountId }) => accountId ?? []));
        return done(
          actions.map(({ id, at, operator, remoteAddress, action, accountId, details, status }) => {
            const { reason = null, ...sent } = details;
            const email = accountId === null ? undefined : (emails.get(accountId) ?? accountId);
            const told = { operator, action, account: email, details, status };
            return {
              id: String(id),
              at: at.toISOString(),
              operator,
              sentence: sentenceOf(told, language),
              remote_address: remoteAddress,
              action,
              account_id: accountId,
              reason,
              details: sent,
              status,
            };
          }),
        );
      }),
    },
  ];
}
