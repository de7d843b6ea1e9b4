import { type Keys, readSecret, replaceSecret } from "../../core/contract/index.ts";

const ACTIVE_KEYS_MAX = 10;

/** The key to greet with, or that there is none: whoever deletes the file ten times has used up the account. */
export type DemoKey =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "too_many" }
  | { readonly kind: "none" };

/**
 * A working key of the demo account. The ledger keeps only its hash, so its text stays in a file for the
 * owner; where the file is gone, or its key was revoked, a new one is made.
 */
export async function demoKey(keys: Keys, accountId: string, file: string): Promise<DemoKey> {
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
