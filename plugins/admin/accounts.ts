import {
  done,
  formatVnd,
  isId,
  newId,
  type OperatorRoute,
  reading,
  refuse,
  roles,
  type Services,
  usageJson,
  walletJson,
} from "../../core/plugin/index.ts";
import { accountBody, keyBodies } from "./bodies.ts";
import { accountPage, newAccount } from "./input.ts";
import { refusedBody } from "./refused.ts";
import { unknownAccount } from "./unknown.ts";

const CALLS_SHOWN = 10;

/** Routes to create, list and search accounts, and to show one with its wallet, keys, last calls and last refused calls. */
export function accountRoutes(services: Services): OperatorRoute[] {
  const { accounts, balances, operations, clock, usage } = services;
  return [
    {
      method: "POST",
      path: "/accounts",
      right: "support",
      handle: reading(newAccount, async (account) => {
        const id = newId(clock.now());
        const { email } = account;
        const created = await accounts.create({ id, email });
        if (created === "created") return done({ id, email }, 201);
        return refuse.conflict("An account with this email address already exists.", {
          code: "email_taken",
          param: "email",
        });
      }),
    },
    {
      method: "GET",
      path: "/accounts",
      handle: reading(accountPage, async (asked, _, { role }) => {
        const isById = asked.query === undefined || isId(asked.query.toLowerCase());
        // The accounts that parts of an address find would spell it out.
        if (!isById && !roles.allow(role, "customers"))
          return refuse.forbidden(
            "Your role does not see addresses: send the id of an account or a key.",
            {
              param: "query",
            },
          );
        const found = await accounts.search(asked);
        if (asked.balances !== "true") return done(found.map(accountBody));
        const wallets = await Promise.all(found.map(({ id }) => balances(id)));
        return done(
          found.map((account, at) => ({
            ...accountBody(account),
            balance_vnd: formatVnd(wallets[at]?.balanceMicroVnd ?? 0),
          })),
        );
      }),
    },
    {
      method: "GET",
      path: "/accounts/:account",
      async handle({ params }) {
        const id = params["account"] ?? "";
        const account = isId(id) ? await accounts.find(id) : undefined;
        if (!account) return unknownAccount(id);
        const wallet = await balances(id);
        const calls = await operations.current.usage({ accountId: id, limit: CALLS_SHOWN });
        const refused = await usage.refused(id, {});
        const earned = await Promise.all(services.discounts.all.map((source) => source(id)));
        return done({
          ...accountBody(account),
          // Those that plugins grant now, beside the account's own.
          discounts: earned.flat().map(({ name, bps, untilMs }) => ({
            name,
            bps,
            until: Number.isFinite(untilMs) ? new Date(untilMs).toISOString() : null,
          })),
          wallet: wallet && walletJson(wallet),
          keys: await keyBodies(services, id),
          last_calls: calls.map((call) => usageJson(call, "admin")),
          last_refused: refused.last.slice(0, CALLS_SHOWN).map(refusedBody),
        });
      },
    },
  ];
}
