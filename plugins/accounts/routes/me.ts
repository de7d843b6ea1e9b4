import {
  type CustomerRoute,
  done,
  isRefusal,
  type PlainResponse,
  type Refusal,
  readBody,
  refuse,
  walletJson,
} from "../../../core/contract/index.ts";
import { tokenIn } from "../cookie.ts";
import type { Credentials } from "../credentials.ts";
import type { Desk } from "../desk.ts";
import { settings } from "../input.ts";
import { csrfTokenOf } from "../secret.ts";

/** Who is signed in, and what they have. */
export function meRoutes(desk: Desk): CustomerRoute[] {
  const { credentials, services } = desk;

  async function me(
    accountId: string,
    cookie: string | undefined,
  ): Promise<PlainResponse | Refusal> {
    const [account, token] = [await credentials.ofAccount(accountId), tokenIn(cookie)];
    if (!account || token === undefined) return refuse.notFound("There is no such account.");
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
      async handle({ headers, body }, { accountId }) {
        const wanted = readBody(settings, body);
        if (isRefusal(wanted)) return wanted;
        await credentials.setLanguage(accountId, wanted.language);
        return me(accountId, headers["cookie"]);
      },
    },
    {
      method: "GET",
      path: "/wallet",
      async handle(_, { accountId }) {
        const wallet = await services.wallets.balances(accountId);
        if (wallet === undefined) return refuse.notFound("There is no such wallet.");
        return done(walletJson(wallet));
      },
    },
  ];
}

/** An account as its owner sees it. */
export function accountBody(account: Credentials, csrfToken: string): object {
  return {
    id: account.accountId,
    email: account.email,
    email_verified: account.isEmailVerified,
    language: account.language ?? "vi",
    created_at: account.createdAt.toISOString(),
    discount_bps: account.discountBps,
    csrf_token: csrfToken,
  };
}
