import {
  done,
  isId,
  isRefusal,
  type OperatorRoute,
  readBody,
  refuse,
  type Services,
} from "../../core/contract/index.ts";
import { keysOf } from "./account-rows.ts";
import { keyLimit, newKey } from "./input.ts";
import { unknownAccount, unknownKey } from "./unknown.ts";

/** API keys: shown once, in the answer that makes them; listed without it, limited, refused everywhere once revoked. */
export function keyRoutes(
  { keys, ledger, database }: Services,
  activeKeysMax: number,
): OperatorRoute[] {
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
              `The account has ${activeKeysMax} active keys, which is the most: revoke one first.`,
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
        if (!isId(account) || !(await ledger.account(account))) return unknownAccount(account);
        return done(await keysOf(database, account));
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
        const [changed] = await database.query<{ account_id: string }>(
          "update api_keys set requests_per_minute = $2 where id = $1 returning account_id",
          [key, requests_per_minute],
        );
        if (!changed) return unknownKey();
        keys.forgetAccount(changed.account_id);
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
          "There is no such key. A key is revoked by its id, not by its text.",
          "key",
        );
      },
    },
  ];
}
