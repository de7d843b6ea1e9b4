import { randomBytes } from "node:crypto";
import { readSecret, replaceSecret } from "./secret.ts";

const RANDOM_BYTES = 12;

/** Sets a password, the same at every start. Returns undefined if `set` returns false: no plugin signs this person in. */
export async function demoPassword(
  file: string,
  set: (password: string) => Promise<boolean>,
): Promise<string | undefined> {
  const kept = await readSecret(file);
  const password = kept ?? randomBytes(RANDOM_BYTES).toString("base64url");
  if (!(await set(password))) return undefined;
  if (kept === undefined) await replaceSecret(file, password);
  return password;
}
