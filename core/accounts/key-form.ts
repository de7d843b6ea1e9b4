import { createHmac, randomBytes } from "node:crypto";
import { KEY_PREFIX } from "../contract/accounts.ts";
import type { Clock } from "../process/clock.ts";
import type { KeyRows } from "./key-rows.ts";

const RANDOM_BYTES = 30;
const RANDOM_CHARACTERS = (RANDOM_BYTES / 3) * 4;
/** Length of the MAC: one guess in 2^48 passes, and then costs one read. */
const MAC_BYTES = 6;
const MAC_CHARACTERS = (MAC_BYTES / 3) * 4;
/**
 * How often to check for keys without a MAC: gateways of an earlier version may still create them, and the last one may
 * be revoked.
 */
const CHECK_EARLIER_MS = 60_000;

type FormRows = Pick<KeyRows, "macSecret" | "hasKeysWithoutMac">;

/**
 * The form of API keys: `tg-`, 40 random characters, and 8 of a MAC under a secret of the ledger. So a guess is refused
 * without a read. Keys of earlier versions lack the MAC; strings of their form are read as long as such keys exist.
 */
export class KeyForm {
  private readonly rows: FormRows;
  private readonly clock: Clock;
  private secret: Buffer | undefined = undefined;
  private hasEarlierKeys = true;
  private nextCheckMs = 0;

  constructor(rows: FormRows, clock: Clock) {
    this.rows = rows;
    this.clock = clock;
  }

  /** Reads the secret. Until then, every string passes for a key. */
  async start(): Promise<void> {
    await this.checkEarlierKeys();
    this.secret = await this.rows.macSecret();
  }

  async create(): Promise<string> {
    const secret = this.secret ?? (await this.rows.macSecret());
    const random = randomBytes(RANDOM_BYTES).toString("base64url");
    return KEY_PREFIX + random + macOf(random, secret);
  }

  /** Returns `no` if the string cannot be a key, without a read, and `maybe` if only a read can tell. */
  judge(text: string): "yes" | "maybe" | "no" {
    if (this.secret === undefined) return "yes";
    if (!text.startsWith(KEY_PREFIX)) return "no";
    const random = text.slice(KEY_PREFIX.length, KEY_PREFIX.length + RANDOM_CHARACTERS);
    const mac = text.slice(KEY_PREFIX.length + RANDOM_CHARACTERS);
    if (random.length < RANDOM_CHARACTERS) return "no";
    if (mac === "") return this.judgeEarlier();
    // The time of this comparison may reveal a part of the MAC, which saves a guesser no more than one read.
    return mac.length === MAC_CHARACTERS && mac === macOf(random, this.secret) ? "yes" : "no";
  }

  private judgeEarlier(): "maybe" | "no" {
    // If the ledger is down, the last result holds.
    if (this.clock.monotonic() >= this.nextCheckMs) this.checkEarlierKeys().catch(() => undefined);
    return this.hasEarlierKeys ? "maybe" : "no";
  }

  private async checkEarlierKeys(): Promise<void> {
    this.nextCheckMs = this.clock.monotonic() + CHECK_EARLIER_MS;
    this.hasEarlierKeys = await this.rows.hasKeysWithoutMac();
  }
}

function macOf(random: string, secret: Buffer): string {
  const mac = createHmac("sha256", secret).update(random).digest();
  return mac.subarray(0, MAC_BYTES).toString("base64url");
}
