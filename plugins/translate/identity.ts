import { createHmac } from "node:crypto";
import { type Call, isObject } from "../../core/plugin/index.ts";

/** Names that a client gives its own users. A provider blocks by them, so they name the account. */
const USERS = ["user", "safety_identifier"] as const;

/**
 * Puts the account in the place of the names that a client gives its users, and of its name for a part of the cache: all
 * customers share the provider's account, so one could take another's name. `key` is secret, so that no name tells the account.
 *
 * A session of a client of Messages is a part of the cache of a model that is reached by another protocol: BerriAI/litellm#37623.
 */
export function hideIdentity(call: Call, key: Uint8Array): void {
  const { body, key: caller, session, endpoint, model } = call;
  if (!caller) return;
  const named = (text: string) =>
    createHmac("sha256", key).update(`identity\n${caller.accountId}\n${text}`).digest("hex");
  const { outline } = body;
  for (const name of USERS) if (isText(outline[name])) body.set(name, named(""));
  const { metadata, prompt_cache_key: part } = outline;
  if (isObject(metadata) && isText(metadata["user_id"])) {
    body.set("metadata", { ...metadata, user_id: named("") });
  }
  if (isText(part)) body.set("prompt_cache_key", named(part));
  const isTranslated = endpoint.protocol === "messages" && model?.standard === "chat";
  if (isTranslated && session !== undefined) body.set("prompt_cache_key", named(session));
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
