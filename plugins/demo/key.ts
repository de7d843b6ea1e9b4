import type { Services } from "../../core/plugin/index.ts";
import { readSecret, replaceSecret } from "./secret.ts";

const ACTIVE_KEYS_MAX = 10;

/** The key to print. `too_many`: the key file was deleted ten times, so the account has its maximum of active keys. */
export type DemoKey =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "too_many" }
  | { readonly kind: "none" };

/**
 * Returns a valid key of the demo account. The ledger has only its hash, so the key itself is in a file with mode 600.
 * Creates a new key if the file is missing or its key was revoked.
 */
export async function demoKey(
  keys: Services["keys"],
  accountId: string,
  file: string,
): Promise<DemoKey> {
  const kept = await readSecret(file);
  if (kept !== undefined) {
    const found = await keys.find(kept);
    if (found?.status === "active" && found.accountId === accountId) {
      return { kind: "key", key: kept };
    }
  }
  const result = await keys.create(accountId, "demo", ACTIVE_KEYS_MAX);
  if (result.kind !== "created") {
    return { kind: result.kind === "too_many_keys" ? "too_many" : "none" };
  }
  await replaceSecret(file, result.key);
  return { kind: "key", key: result.key };
}
