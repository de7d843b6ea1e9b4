import {
  done,
  isId,
  isRefusal,
  type OperatorRoute,
  readBody,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import { keyBody } from "./bodies.ts";
import { keyLimit, newKey } from "./input.ts";
import { unknownAccount, unknownKey } from "./unknown.ts";

/** Routes to create, list, limit and revoke API keys. Only the reply that creates a key has its secret. */
export function keyRoutes({ accounts, keys }: Services, activeKeysMax: number): OperatorRoute[] {
  return [
    {
      method: "POST",
      path: "/accounts/:account/keys",
      async handle({ params, body }) {
        const account = params["account"] ?? "";
        const wanted = readBody(newKey, body);
        if (isRefusal(wanted)) return wanted;
        if (!isId(account)) return unknownAccount(account);
        const result = await keys.create(account, wanted.name, activeKeysMax);
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
      },
    },
    {
      method: "GET",
      path: "/accounts/:account/keys",
      async handle({ params }) {
        const account = params["account"] ?? "";
        if (!(await accounts.find(account))) return unknownAccount(account);
        return done((await accounts.keys(account)).map(keyBody));
      },
    },
    {
      method: "POST",
      path: "/keys/:key/limit",
      async handle({ params, body }) {
        const key = params["key"] ?? "";
        const wanted = readBody(keyLimit, body);
        if (isRefusal(wanted)) return wanted;
        if (!isId(key)) return unknownKey();
        const { requests_per_minute } = wanted;
        if (!(await accounts.setKeyLimit(key, requests_per_minute))) return unknownKey();
        return done({ id: key, requests_per_minute });
      },
    },
    {
      method: "POST",
      path: "/keys/:key/revoke",
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
