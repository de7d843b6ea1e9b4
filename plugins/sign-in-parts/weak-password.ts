import { createRequire } from "node:module";
import { type Refusal, refuse } from "../../core/plugin/index.ts";

/** A password with fewer different characters than this is too weak: `aaaaaaaaaa`, `1212121212`. */
const DIFFERENT_MIN = 4;
/** Minimum length of a name that a password must not contain: shorter ones occur in good passwords by chance. */
const NAME_CHARACTERS_MIN = 4;
/** Minimum length of listed passwords: shorter ones are refused for their length. */
const LISTED_CHARACTERS_MIN = 10;

let common: Set<string> | undefined;

/** Refuses a password that is among the first that others try: a common one, or one made of the address. */
export function weakPassword(password: string, email: string): Refusal | undefined {
  const tried = password.normalize("NFKC").toLowerCase();
  if (new Set(tried).size < DIFFERENT_MIN) return weak("It repeats a few characters.");
  common ??= commonPasswords();
  if (common.has(tried)) return weak("It is one of the most common ones.");
  const [name = "", domain = ""] = email.toLowerCase().split("@");
  const known = [name, domain, domain.split(".")[0] ?? ""];
  if (known.some((part) => part.length >= NAME_CHARACTERS_MIN && tried.includes(part))) {
    return weak("It contains a part of your email address.");
  }
  return undefined;
}

/** Loaded with the first new password: 49,000 passwords as leaks have them, of which few are long enough. */
function commonPasswords(): Set<string> {
  const list: unknown = createRequire(import.meta.url)(
    "@zxcvbn-ts/language-common/src/passwords.json",
  );
  if (!Array.isArray(list)) throw new Error("the list of common passwords cannot be read");
  return new Set(list.filter((password) => password.length >= LISTED_CHARACTERS_MIN));
}

function weak(reason: string): Refusal {
  return refuse.badRequest(`password: choose another one. ${reason}`, {
    code: "weak_password",
    param: "password",
  });
}
