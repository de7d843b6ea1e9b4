import { isId, readBody } from "../../core/http/json-input.ts";
import { conflict, done, notFound, type OperatorRoute } from "../../core/http/json-route.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Services } from "../../core/services.ts";
import { unknownAccount } from "./accounts.ts";
import { newKey } from "./input.ts";

/** API keys: shown once, in the answer that makes them; refused everywhere once revoked. */
export function keyRoutes({ keys }: Services, activeKeysMax: number): OperatorRoute[] {
  return [
    {
      method: "POST",
      path: "/accounts/:account/keys",
      async handle({ params, body }) {
        const account = params["account"] ?? "";
        const wanted = readBody(newKey, body);
        if (wanted instanceof Refusal) return wanted;
        if (!isId(account)) return unknownAccount(account);
        const result = await keys.create(account, wanted.name, activeKeysMax);
        switch (result.kind) {
          case "created":
            return done({ id: result.id, key: result.key }, 201);
          case "no_account":
            return unknownAccount(account);
          case "too_many_keys":
            return conflict(
              "too_many_keys",
              `The account has ${activeKeysMax} active keys, which is the most: revoke one first.`,
            );
        }
      },
    },
    {
      method: "POST",
      path: "/keys/:key/revoke",
      async handle({ params }) {
        const key = params["key"] ?? "";
        if (isId(key) && (await keys.revoke(key))) return done({ id: key, status: "revoked" });
        return notFound(
          "There is no such key. A key is revoked by its id, not by its text.",
          "key",
        );
      },
    },
  ];
}
