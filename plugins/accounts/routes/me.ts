import {
  type CustomerRoute,
  done,
  type PlainResponse,
  type Refusal,
  reading,
  refuse,
  walletJson,
} from "../../../core/plugin/index.ts";
import { csrfTokenOf } from "../../sign-in-parts/secret.ts";
import type { AccountContext } from "../account-context.ts";
import { tokenIn } from "../cookie.ts";
import type { Credentials } from "../credentials.ts";
import { settings } from "../input.ts";

/** Routes for the signed-in customer: account, language, wallet. */
export function meRoutes(context: AccountContext): CustomerRoute[] {
  const { credentials, services } = context;

  async function me(
    accountId: string,
    cookie: string | undefined,
  ): Promise<PlainResponse | Refusal> {
    const [account, token] = [
      await credentials.ofAccount(accountId),
      tokenIn(cookie, context.isSecure),
    ];
    if (!account || token === undefined) return refuse.notFound("This account does not exist.");
    return done(accountBody(account, csrfTokenOf(token)));
  }

  return [
    {
      method: "GET",
      path: "/me",
      handle: ({ headers }, { accountId }) => me(accountId, headers["cookie"]),
    },
    {
      method: "POST",
      path: "/me",
      handle: reading(settings, async (wanted, { headers }, { accountId }) => {
        if (wanted.language) await credentials.setLanguage(accountId, wanted.language);
        return me(accountId, headers["cookie"]);
      }),
    },
    {
      method: "GET",
      path: "/wallet",
      async handle(_, { accountId }) {
        const wallet = await services.balances(accountId);
        if (wallet === undefined) return refuse.notFound("This account has no wallet.");
        return done(walletJson(wallet));
      },
    },
  ];
}

/** Returns an account as JSON for its owner. */
export function accountBody(account: Credentials, csrfToken: string): object {
  return {
    id: account.accountId,
    email: account.email,
    email_verified: account.isEmailVerified,
    language: account.language,
    created_at: account.createdAt.toISOString(),
    discount_bps: account.discountBps,
    csrf_token: csrfToken,
  };
}
