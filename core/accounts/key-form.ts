import { createHmac, randomBytes } from "node:crypto";
import { KEY_PREFIX } from "./account.ts";
import type { KeyRows } from "./key-rows.ts";

const RANDOM_BYTES = 30;
const RANDOM_CHARACTERS = (RANDOM_BYTES / 3) * 4;
/** Length of the MAC: one guess in 2^48 passes, and then costs one read. */
const MAC_BYTES = 6;

/**
 * The form of API keys: `tg-`, 40 random characters, and 8 of a MAC under a secret of the ledger. So a guess is refused
 * without a read.
 */
export class KeyForm {
  private readonly rows: Pick<KeyRows, "macSecret">;
  private secret: Buffer | undefined = undefined;

  constructor(rows: Pick<KeyRows, "macSecret">) {
    this.rows = rows;
  }

  /** Reads the secret. Until then, every string passes for a key. */
  async start(): Promise<void> {
    this.secret = await this.rows.macSecret();
  }

  async create(): Promise<string> {
    const secret = this.secret ?? (await this.rows.macSecret());
    const random = randomBytes(RANDOM_BYTES).toString("base64url");
    return KEY_PREFIX + random + macOf(random, secret);
  }

  /** Returns false if the string cannot be a key. */
  canBeKey(text: string): boolean {
    if (this.secret === undefined) return true;
    if (!text.startsWith(KEY_PREFIX)) return false;
    const random = text.slice(KEY_PREFIX.length, KEY_PREFIX.length + RANDOM_CHARACTERS);
    const mac = text.slice(KEY_PREFIX.length + RANDOM_CHARACTERS);
    // The time of this comparison may reveal a part of the MAC, which saves a guesser no more than one read.
    return random.length === RANDOM_CHARACTERS && mac === macOf(random, this.secret);
  }
}

function macOf(random: string, secret: Buffer): string {
  const mac = createHmac("sha256", secret).update(random).digest();
  return mac.subarray(0, MAC_BYTES).toString("base64url");
}
