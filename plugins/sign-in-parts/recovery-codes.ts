import { hashOf } from "./secret.ts";
import { newTypedCode, plainCode } from "./typed-code.ts";

const CODES = 10;

export function newRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, newTypedCode);
}

/** Returns the hash of a recovery code that the database stores. */
export function recoveryHashOf(accountId: string, code: string): Buffer {
  return hashOf(`${accountId} ${plainCode(code)}`);
}
