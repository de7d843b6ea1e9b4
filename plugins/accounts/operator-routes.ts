import {
  type Command,
  done,
  isRefusal,
  line,
  mapping,
  type OperatorRoute,
  readBody,
  refuse,
} from "../../core/plugin/index.ts";
import type { AccountContext } from "./account-context.ts";
import { invitationCommands, invitationRoutes } from "./invitation-routes.ts";

const reasoned = mapping({ reason: line(500, "a reason of 1 to 500 characters on one line") });

/** Commands that plugins/admin shows to operators. */
export const commands: readonly Command[] = [
  ...invitationCommands,
  {
    words: "second-factor off",
    about: "switch off the second factor of a customer who lost it; be sure who asks for it",
    method: "POST",
    path: "/admin/v1/accounts/:account/second-factor/off",
    options: [
      { name: "account", value: "ID|EMAIL", required: true },
      { name: "reason", value: "TEXT", required: true },
    ],
  },
];

/** Routes for operators: invitations, and the second factor of a customer who lost it, with its recovery codes. */
export function operatorRoutes(context: AccountContext): OperatorRoute[] {
  return [
    ...invitationRoutes(context),
    {
      method: "POST",
      path: "/accounts/:account/second-factor/off",
      async handle({ params, body }) {
        const wanted = readBody(reasoned, body);
        if (isRefusal(wanted)) return wanted;
        const id = params["account"] ?? "";
        const account = await context.services.accounts.find(id);
        if (!account) {
          const message = "There is no such account. `account list` lists all accounts.";
          return refuse.notFound(message, "account");
        }
        const wasOn = await context.secondFactors.drop(id);
        if (wasOn) context.tellOwner(id, "factor-off");
        return done({ account: id, email: account.email, was_on: wasOn });
      },
    },
  ];
}
