import {
  type CustomerRoute,
  done,
  isRefusal,
  type PublicRoute,
  readBody,
  reading,
} from "../../../core/plugin/index.ts";
import { busy } from "../../sign-in-parts/refusals.ts";
import { weakPassword } from "../../sign-in-parts/weak-password.ts";
import { type AccountContext, invalidToken } from "../account-context.ts";
import { forgottenCookie } from "../cookie.ts";
import { change, forgotten, reset, resetLink } from "../input.ts";
import { activeKeys, revokeAll } from "../own-keys.ts";
import { rightPassword, wrongPassword } from "../own-password.ts";

/** Routes to reset a forgotten password by a link in a mail. */
export function forgottenPasswordRoutes(context: AccountContext): PublicRoute[] {
  const { credentials, mailer, passwords } = context;
  return [
    {
      method: "POST",
      path: "/password/forgot",
      handle: reading(forgotten, async (given, request) => {
        const refusal = await context.admit(request, ["mail", given.email]);
        if (refusal) return refusal;
        // Look up the account after the reply, so that the reply does not reveal whether it exists.
        const isTaken = mailer.take(async () => {
          const account = await credentials.ofEmail(given.email);
          const language = account?.language ?? given.language ?? context.options.language;
          return account && context.linkMail("reset", account, language);
        });
        return isTaken ? done({}, 202) : busy();
      }),
    },
    {
      method: "POST",
      path: "/password/reset",
      async handle(request) {
        const refusal = await context.admit(request);
        if (refusal) return refusal;
        const wanted = readBody(reset, request.body);
        if (isRefusal(wanted)) return wanted.param === "token" ? invalidToken() : wanted;
        const account = await credentials.ofLink(wanted.token, "reset");
        if (!account) return invalidToken();
        const weak = weakPassword(wanted.password, account.email);
        if (weak) return weak;
        const passwordHash = await passwords.hash(wanted.password);
        if (passwordHash === "busy") return busy();
        const accountId = await credentials.reset(wanted.token, passwordHash, wanted.language);
        if (accountId === undefined) return invalidToken();
        if (account.passwordHash !== null) await context.tellOwnerAfter(accountId, "changed");
        const revoked = wanted.revoke_keys ? await revokeAll(context, accountId) : 0;
        // The link proves who this is, so guesses of strangers must not keep the owner from signing in now.
        const device = await context.devices.remember(request, accountId, context.isSecure);
        const cookies = ["set-cookie", forgottenCookie(context.isSecure), "set-cookie", device];
        return done({ revoked_keys: revoked }, 200, cookies);
      },
    },
    {
      method: "POST",
      path: "/password/reset/keys",
      async handle(request) {
        const refusal = await context.admit(request);
        if (refusal) return refusal;
        const given = readBody(resetLink, request.body);
        const account = isRefusal(given)
          ? undefined
          : await credentials.ofLink(given.token, "reset");
        if (!account) return invalidToken();
        const { accountId } = account;
        const active = await activeKeys(context, accountId);
        const used = await lastUses(context, active);
        // A key in a team of others is one of the owner's account.
        const owners = await context.services.accounts.emails(active.map((key) => key.accountId));
        return done({
          data: active.map((key) => ({
            name: key.name,
            prefix: key.prefix,
            last_used_at: used.get(key.id)?.toISOString() ?? null,
            team: key.accountId === accountId ? null : (owners.get(key.accountId) ?? null),
            of_member: key.accountId === accountId && key.memberId !== null,
          })),
        });
      },
    },
  ];
}

/** Returns when keys were last used, by their ids: calls are in the books of the account that pays for a key. */
async function lastUses(
  { services }: AccountContext,
  keys: Awaited<ReturnType<typeof activeKeys>>,
): Promise<ReadonlyMap<string, Date>> {
  const accounts = [...new Set(keys.map(({ accountId }) => accountId))];
  const used = accounts.map((accountId) => {
    const own = keys.filter((key) => key.accountId === accountId);
    return services.usage.byKey(
      accountId,
      own.map(({ id }) => id),
    );
  });
  return new Map((await Promise.all(used)).flat().map((one) => [one.keyId, one.lastUsedAt]));
}

export function changePasswordRoute(context: AccountContext): CustomerRoute {
  const { credentials, passwords } = context;
  return {
    method: "POST",
    path: "/password/change",
    handle: reading(change, async (wanted, request, customer) => {
      const weak = weakPassword(wanted.password, customer.email);
      if (weak) return weak;
      const checkedHash = await rightPassword(context, request, customer, wanted.current);
      if (isRefusal(checkedHash)) return checkedHash;
      const passwordHash = await passwords.hash(wanted.password);
      if (passwordHash === "busy") return busy();
      const { accountId, sessionId } = customer;
      const isChanged = await credentials.change(accountId, checkedHash, passwordHash, sessionId);
      if (!isChanged) return wrongPassword();
      await context.tellOwnerAfter(accountId, "changed");
      return done({});
    }),
  };
}
