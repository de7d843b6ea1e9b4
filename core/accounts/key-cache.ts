import { LRUCache } from "lru-cache";
import type { CallerKey } from "./account.ts";

/** How many strings that are not keys are cached: about 2 MB. A flood of them evicts only other such strings. */
const UNKNOWN_MAX = 10_000;
/** How long a string that is not a key is cached, so that guessing does not load the ledger. */
const UNKNOWN_MS = 5_000;
/**
 * Memory of a cached key in bytes, without the texts that `bytesOf` adds: its record and its places in the cache and in
 * the index of accounts.
 */
const KEY_BYTES = 440;
const DISCOUNT_BYTES = 150;

/** A cached key. */
export interface KnownKey {
  readonly key: CallerKey;
  /** When the key was read, by the monotonic clock. */
  readonly readAtMs: number;
  /** When to read the key again, in the background. */
  refreshAtMs: number;
}

/**
 * The keys that this process has read lately, by the SHA-256 of the key in hexadecimal. At `bytesMax` the least
 * recently used key is evicted.
 */
export class KeyCache {
  private readonly known: LRUCache<string, KnownKey>;
  private readonly unknown = new LRUCache<string, number>({ max: UNKNOWN_MAX });
  private readonly byAccount = new AccountNames();

  constructor(bytesMax: number) {
    this.known = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ key }) => bytesOf(key),
      dispose: ({ key }, name) => this.byAccount.remove(key.accountId, name),
    });
  }

  get keys(): number {
    return this.known.size;
  }

  get(name: string): KnownKey | undefined {
    return this.known.get(name);
  }

  set(name: string, known: KnownKey): void {
    this.unknown.delete(name);
    this.known.set(name, known);
    // The cache does not take a key that alone exceeds its size.
    if (this.known.has(name)) this.byAccount.add(known.key.accountId, name);
  }

  /** Returns true for a string that was no key a moment ago. */
  isUnknown(name: string, nowMs: number): boolean {
    const untilMs = this.unknown.get(name);
    return untilMs !== undefined && nowMs < untilMs;
  }

  setUnknown(name: string, nowMs: number): void {
    this.known.delete(name);
    this.unknown.set(name, nowMs + UNKNOWN_MS);
  }

  /** Drops an account's keys. Costs the same however many keys are cached. */
  deleteAccount(accountId: string): void {
    for (const name of this.byAccount.of(accountId)) this.known.delete(name);
  }
}

/** Names of cached keys by account. Most accounts have one key, so a set is made only for a second one. */
class AccountNames {
  private readonly names = new Map<string, string | Set<string>>();

  /** Returns a copy, so that the caller can remove names during its loop. */
  of(accountId: string): readonly string[] {
    const names = this.names.get(accountId);
    if (names === undefined) return [];
    return typeof names === "string" ? [names] : [...names];
  }

  add(accountId: string, name: string): void {
    const names = this.names.get(accountId);
    if (names === undefined) this.names.set(accountId, name);
    else if (typeof names !== "string") names.add(name);
    else if (names !== name) this.names.set(accountId, new Set([names, name]));
  }

  remove(accountId: string, name: string): void {
    const names = this.names.get(accountId);
    if (names === name) this.names.delete(accountId);
    else if (typeof names === "object" && names.delete(name) && names.size === 0)
      this.names.delete(accountId);
  }
}

/** Returns the approximate memory of a key in bytes. A character of a name may take two bytes. */
function bytesOf({ id, accountId, hash, name, discounts }: CallerKey): number {
  const texts = id.length + accountId.length + hash.length + 2 * name.length;
  return KEY_BYTES + texts + DISCOUNT_BYTES * discounts.length;
}
