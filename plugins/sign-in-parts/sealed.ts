import type { Services } from "../../core/plugin/index.ts";

/** Encrypts keys for their owners. */
export type KeySealer = NonNullable<Services["keySealer"]["current"]>;

/** An encrypted text, and the name of the master key that decrypts it. */
export type SealedKey = ReturnType<KeySealer["seal"]>;

/** The same, with the ids that the encryption is bound to. */
export interface SealedKeyRecord extends SealedKey {
  readonly keyId: string;
  readonly accountId: string;
}
