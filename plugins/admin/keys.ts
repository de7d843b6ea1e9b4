import {
  done,
  isId,
  keyLimits,
  type OperatorRoute,
  reading,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import { keyBodies, keyBody } from "./bodies.ts";
import { keyChange, keyLimit, keySearch, newKey } from "./input.ts";
import { unknownAccount, unknownKey } from "./unknown.ts";

/** Routes to create, list, find, limit and revoke API keys. Only the reply that creates a key has its secret. */
export function keyRoutes(services: Services): OperatorRoute[] {
  const { accounts, keys } = services;
  const subject: OperatorRoute["subject"] = async ({ key = "" }) => {
    const [found] = isId(key) ? await accounts.findKeys(key) : [];
    return found && { account_id: found.accountId, key_name: found.name };
  };
  return [
    {
      method: "POST",
      path: "/accounts/:account/keys",
      right: "support",
      needsProof: true,
      handle: reading(newKey, async (wanted, { params }) => {
        const account = params["account"] ?? "";
        if (!isId(account)) return unknownAccount(account);
        const refusal = keyLimits.refusal(wanted.limits, services);
        if (refusal) return refusal;
        const { name, limits } = wanted;
        const { activeKeysMax } = services.customers.current;
        const result = await keys.create(account, name, activeKeysMax, limits);
        switch (result.kind) {
          case "created":
            return done({ id: result.id, key: result.key }, 201);
          case "no_account":
            return unknownAccount(account);
          case "too_many_keys":
            return refuse.conflict(
              `The account has ${activeKeysMax} active keys, the maximum; revoke one first.`,
              { code: "too_many_keys" },
            );
        }
      }),
    },
    {
      method: "GET",
      path: "/accounts/:account/keys",
      async handle({ params }) {
        const account = params["account"] ?? "";
        if (!(await accounts.find(account))) return unknownAccount(account);
        return done(await keyBodies(services, account));
      },
    },
    {
      method: "GET",
      path: "/keys",
      handle: reading(keySearch, async (wanted) => {
        const found = await accounts.findKeys(wanted.query);
        const emails = await accounts.emails(found.map(({ accountId }) => accountId));
        return done(
          await Promise.all(
            found.map(async (key) => ({
              account_id: key.accountId,
              email: emails.get(key.accountId) ?? null,
              ...(await keyBody(services, key)),
            })),
          ),
        );
      }),
    },
    {
      method: "POST",
      path: "/keys/:key/limit",
      right: "support",
      subject,
      handle: reading(keyLimit, async (wanted, { params }) => {
        const key = params["key"] ?? "";
        if (!isId(key)) return unknownKey();
        const { requests_per_minute } = wanted;
        if (!(await accounts.setKeyLimit(key, requests_per_minute))) return unknownKey();
        return done({ id: key, requests_per_minute });
      }),
    },
    {
      method: "POST",
      path: "/keys/:key/limits",
      right: "support",
      subject,
      handle: reading(keyChange, async ({ reason: _, ...change }, { params }) => {
        const refusal = keyLimits.changeRefusal(change, services);
        if (refusal) return refusal;
        const key = await accounts.setKeyLimits(params["key"] ?? "", change);
        return key ? done(await keyBody(services, key)) : unknownKey();
      }),
    },
    {
      method: "POST",
      path: "/keys/:key/revoke",
      right: "support",
      subject,
      async handle({ params }) {
        const key = params["key"] ?? "";
        if (isId(key) && (await keys.revoke(key))) return done({ id: key, status: "revoked" });
        return refuse.notFound(
          "There is no such key. Send the id of the key, not the key itself.",
          "key",
        );
      },
    },
  ];
}
