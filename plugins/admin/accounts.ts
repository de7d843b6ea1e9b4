import { readBody } from "../../core/http/json-input.ts";
import { conflict, done, notFound, type OperatorRoute } from "../../core/http/json-route.ts";
import { newId } from "../../core/id.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Services } from "../../core/services.ts";
import { newAccount } from "./input.ts";

/** What a caller sent, short enough for a message. */
const ID_SHOWN_MAX = 64;

/** Accounts: made with their e-mail address, listed oldest first. */
export function accountRoutes({ ledger, clock }: Services): OperatorRoute[] {
  return [
    {
      method: "POST",
      path: "/accounts",
      async handle({ body }) {
        const account = readBody(newAccount, body);
        if (account instanceof Refusal) return account;
        const id = newId(clock.now());
        const { email } = account;
        const created = await ledger.createAccount({ id, email });
        if (created === "created") return done({ id, email }, 201);
        return conflict("email_taken", "There is an account with this e-mail address.", "email");
      },
    },
    {
      method: "GET",
      path: "/accounts",
      async handle() {
        const accounts = await ledger.accounts();
        return done(
          accounts.map((account) => ({
            id: account.id,
            email: account.email,
            status: account.status,
            discount_bps: account.discountBps,
            created_at: account.createdAt.toISOString(),
          })),
        );
      },
    },
  ];
}

export function unknownAccount(id: string): Refusal {
  const shown = id.length > ID_SHOWN_MAX ? `${id.slice(0, ID_SHOWN_MAX)}…` : id;
  return notFound(`There is no account ${shown}: \`account list\` shows them all.`, "account");
}
