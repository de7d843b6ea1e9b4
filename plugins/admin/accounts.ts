import {
  done,
  isId,
  isRefusal,
  newId,
  type OperatorRoute,
  readBody,
  readQuery,
  refuse,
  type Services,
} from "../../core/contract/index.ts";
import { findAccounts, keysOf } from "./account-rows.ts";
import { accountPage, newAccount } from "./input.ts";
import { walletOf } from "./money.ts";
import { unknownAccount } from "./unknown.ts";
import { recordOf } from "./usage.ts";

const CALLS_SHOWN = 10;

/** Accounts: made with their e-mail address, listed and found, shown with all that an operator asks first. */
export function accountRoutes({ ledger, database, wallets, clock }: Services): OperatorRoute[] {
  return [
    {
      method: "POST",
      path: "/accounts",
      async handle({ body }) {
        const account = readBody(newAccount, body);
        if (isRefusal(account)) return account;
        const id = newId(clock.now());
        const { email } = account;
        const created = await ledger.createAccount({ id, email });
        if (created === "created") return done({ id, email }, 201);
        return refuse.conflict("There is an account with this e-mail address.", {
          code: "email_taken",
          param: "email",
        });
      },
    },
    {
      method: "GET",
      path: "/accounts",
      async handle({ query }) {
        const page = readQuery(accountPage, query);
        if (isRefusal(page)) return page;
        return done(await findAccounts(database, page));
      },
    },
    {
      method: "GET",
      path: "/accounts/:account",
      async handle({ params }) {
        const id = params["account"] ?? "";
        const account = isId(id) ? await ledger.account(id) : undefined;
        if (!account) return unknownAccount(id);
        const wallet = await wallets.balances(id);
        const calls = await ledger.usage({ accountId: id, limit: CALLS_SHOWN });
        return done({
          id,
          email: account.email,
          status: account.status,
          discount_bps: account.discountBps,
          created_at: account.createdAt.toISOString(),
          wallet: wallet && walletOf(wallet),
          keys: await keysOf(database, id),
          last_calls: calls.map(recordOf),
        });
      },
    },
  ];
}
