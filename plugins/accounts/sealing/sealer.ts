import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { KeySealer, SealedKey, SealedKeyRecord } from "../../sign-in-parts/sealed.ts";
import type { MasterKey } from "./master-keys.ts";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts API keys with AES-256-GCM, as nonce, tag, ciphertext. The additional data names the key, its account and
 * the master key, so a ciphertext that was copied to another record cannot be unsealed.
 */
export class Sealer implements KeySealer {
  private masterKeys: readonly MasterKey[] = [];

  /** Sets the master keys. The first one seals from now on; all of them unseal. */
  use(masterKeys: readonly MasterKey[]): void {
    this.masterKeys = masterKeys;
  }

  /** The id of the master key that seals; undefined if there is none. */
  get newest(): string | undefined {
    return this.masterKeys[0]?.id;
  }

  seal(keyId: string, accountId: string, secret: string): SealedKey {
    const [master] = this.masterKeys;
    if (!master) throw new Error("no master key to seal with; set one in the options of accounts");
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, master.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(binding(keyId, accountId, master.id));
    const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return { sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]), sealedBy: master.id };
  }

  /** Decrypts a key. Returns undefined if its record was tampered with, or its master key is not in the config. */
  unseal({ keyId, accountId, sealed, sealedBy }: SealedKeyRecord): string | undefined {
    const master = this.masterKeys.find(({ id }) => id === sealedBy);
    if (!master || sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(ALGORITHM, master.key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(binding(keyId, accountId, master.id));
    decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString("utf8");
    } catch {
      return undefined;
    }
  }
}

function binding(keyId: string, accountId: string, masterKeyId: string): Buffer {
  return Buffer.from(JSON.stringify(["tollgate key", keyId, accountId, masterKeyId]));
}
