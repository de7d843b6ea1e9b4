import { randomBytes } from "node:crypto";
import type { Services } from "../../core/plugin/index.ts";
import { readSecret, replaceSecret } from "./secret.ts";

const RANDOM_BYTES = 12;

/**
 * Sets the password of the demo account, the same at every start. Returns undefined if customers cannot sign in.
 */
export async function demoPassword(
  customers: Services["customers"]["current"],
  accountId: string,
  file: string,
): Promise<string | undefined> {
  const kept = await readSecret(file);
  const password = kept ?? randomBytes(RANDOM_BYTES).toString("base64url");
  if (!(await customers.setPassword(accountId, password))) return undefined;
  if (kept === undefined) await replaceSecret(file, password);
  return password;
}
