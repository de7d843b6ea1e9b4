import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { KeySealer, SealedKey, SealedKeyRecord } from "../../../core/contract/index.ts";
import type { MasterKey } from "./master-keys.ts";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts keys by AES-256-GCM as nonce, tag, ciphertext. The additional data names the key, its account and
 * the master key, so that a ciphertext that was moved to another record does not open.
 */
export class Sealer implements KeySealer {
  private masterKeys: readonly MasterKey[] = [];

  /** The first of them seals from now on; all open. */
  use(masterKeys: readonly MasterKey[]): void {
    this.masterKeys = masterKeys;
  }

  /** The name of the master key that seals; undefined where there is none. */
  get newest(): string | undefined {
    return this.masterKeys[0]?.id;
  }

  seal(keyId: string, accountId: string, secret: string): SealedKey {
    const [master] = this.masterKeys;
    if (!master) throw new Error("there is no master key to seal by");
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, master.key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(binding(keyId, accountId, master.id));
    const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return { sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]), sealedBy: master.id };
  }

  /** The key; undefined where the record was tampered with, or its master key is not there. */
  open({ keyId, accountId, sealed, sealedBy }: SealedKeyRecord): string | undefined {
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
