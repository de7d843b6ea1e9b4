import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import {
  type CallerKey,
  KEY_PREFIX,
  KEY_SHOWN_CHARACTERS,
  type KeyRecord,
  type Keys,
  type NewKeyResult,
} from "../contract/accounts.ts";
import type { HoldStore } from "../contract/hold-store.ts";
import type { Slots } from "../contract/slot.ts";
import type { Clock } from "../process/clock.ts";
import { newId } from "../process/id.ts";
import type { Log } from "../process/log.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import type { KnownKeys } from "./accounts.ts";
import type { KeyRows } from "./key-rows.ts";

/** A key of the ledger is read again after this long, in the background. */
const FRESH_MS = 30_000;
/** Known keys outlive an outage of the ledger by this much; revocation does not depend on it. */
const STALE_MS = 3_600_000;
/** Strings that are no key are remembered briefly, so that guessing does not load the ledger. */
const UNKNOWN_MS = 5_000;
/** A call does not wait longer than this for its key; one that comes later finds what was read. */
const READ_TIMEOUT_MS = 1_000;
const CACHE_ENTRIES_MAX = 100_000;

const KEY_RANDOM_BYTES = 30;

/** What plugins know of keys: how to seal them, and which discounts their accounts have earned. */
export interface KeySlots {
  readonly keySealer: Pick<Slots["keySealer"], "current">;
  readonly discounts: Pick<Slots["discounts"], "all">;
}

interface Cached {
  key: CallerKey | undefined;
  readAtMs: number;
  reading: Promise<CallerKey | undefined> | undefined;
}

/** API keys: made, looked up by their SHA-256, revoked at once. */
export class CachedKeys implements Keys, KnownKeys {
  private readonly rows: KeyRows;
  private readonly holdStore: HoldStore;
  private readonly clock: Clock;
  private readonly log: ThrottledLog;
  /** By the SHA-256 of the key, in hexadecimal. What was not asked for the longest is evicted. */
  private readonly cache = new LRUCache<string, Cached>({ max: CACHE_ENTRIES_MAX });
  private readonly slots: KeySlots;

  constructor(rows: KeyRows, holdStore: HoldStore, clock: Clock, log: Log, slots: KeySlots) {
    this.rows = rows;
    this.holdStore = holdStore;
    this.clock = clock;
    this.log = new ThrottledLog(log);
    this.slots = slots;
  }

  /**
   * The record of a key, revoked ones included; undefined where there is none. Answers at once for keys
   * seen lately. Rejects where the ledger is away and the key is not known here.
   */
  find(secret: string): CallerKey | undefined | Promise<CallerKey | undefined> {
    const name = hash("sha256", secret, "hex");
    const cached = this.cache.get(name);
    if (!cached) return this.readSoon(name, this.remember(name));
    const ageMs = this.clock.monotonic() - cached.readAtMs;
    if (cached.key === undefined)
      return ageMs < UNKNOWN_MS ? undefined : this.readSoon(name, cached);
    if (ageMs >= STALE_MS) return this.readSoon(name, cached);
    if (ageMs >= FRESH_MS) this.refresh(name, cached);
    return cached.key;
  }

  async create(accountId: string, name: string, activeKeysMax: number): Promise<NewKeyResult> {
    const secret = KEY_PREFIX + randomBytes(KEY_RANDOM_BYTES).toString("base64url");
    const prefix = secret.slice(0, KEY_SHOWN_CHARACTERS);
    const id = newId(this.clock.now());
    const result = await this.rows.create({
      id,
      accountId,
      name,
      hash: Buffer.from(hash("sha256", secret, "hex"), "hex"),
      prefix,
      activeKeysMax,
      sealed: this.slots.keySealer.current?.seal(id, accountId, secret) ?? null,
    });
    return result === "created" ? { kind: "created", id, key: secret, prefix } : { kind: result };
  }

  /** From the moment this resolves the key is refused everywhere. False where there is no such key. */
  async revoke(keyId: string): Promise<boolean> {
    const key = await this.rows.revoke(keyId);
    if (!key) return false;
    // First what cannot fail: while the hold store is away, this process at least knows.
    this.cache.delete(key.hash.toString("hex"));
    await this.holdStore.revoke(keyId);
    return true;
  }

  /**
   * Why the hold store has refused a key: its record as the ledger has it now. A key that is good after all, since
   * its account was suspended by one process and taken back by another, is good everywhere from now on.
   */
  async refused(key: KeyRecord): Promise<CallerKey | undefined> {
    const name = key.hash.toString("hex");
    this.cache.delete(name);
    const now = await this.read(name, this.remember(name));
    if (now?.status === "active" && now.accountStatus === "active")
      await this.holdStore.restore(now.id);
    return now;
  }

  /**
   * The key as it is after a credit that came since it was read: read from the ledger again. Where that does
   * not answer within a second the key is as it was, since a call is worth more than its discount.
   */
  async renew(key: CallerKey): Promise<CallerKey> {
    const reading = this.readSince(key).catch((error: unknown) => {
      this.log.warn({ err: error }, "a key could not be read after a credit");
      return key;
    });
    const now = await withTimeout(reading, READ_TIMEOUT_MS);
    return now === TIMED_OUT ? key : now;
  }

  /** Forgets what is known of an account's keys: its discount or status has changed. */
  forgetAccount(accountId: string): void {
    const names: string[] = [];
    for (const [name, cached] of this.cache.entries()) {
      if (cached.key?.accountId === accountId) names.push(name);
    }
    // Afterwards: the cache does not say what becomes of an iteration during which entries go.
    for (const name of names) this.cache.delete(name);
  }

  private remember(name: string): Cached {
    const cached: Cached = {
      key: undefined,
      readAtMs: Number.NEGATIVE_INFINITY,
      reading: undefined,
    };
    this.cache.set(name, cached);
    return cached;
  }

  private async readSoon(name: string, cached: Cached): Promise<CallerKey | undefined> {
    const key = await withTimeout(this.read(name, cached), READ_TIMEOUT_MS);
    if (key !== TIMED_OUT) return key;
    throw new Error(`the ledger did not answer within ${READ_TIMEOUT_MS} ms`);
  }

  private async readSince(before: CallerKey): Promise<CallerKey> {
    const name = before.hash.toString("hex");
    const cached = this.cache.get(name) ?? this.remember(name);
    let now = await this.read(name, cached);
    // A reading that was under way may have missed the credit; one that begins now has not.
    if (now?.creditVersion === before.creditVersion) now = await this.read(name, cached);
    return now ?? before;
  }

  /** The credits are counted before the discounts are looked up, so these are never the older ones. */
  private async readKey(name: string): Promise<CallerKey | undefined> {
    const key = await this.rows.byHash(Buffer.from(name, "hex"));
    if (key === undefined) return undefined;
    const sources = this.slots.discounts.all;
    const earned = await Promise.all(sources.map((source) => source(key.accountId)));
    return Object.assign(key, { discounts: earned.flat() });
  }

  /** Concurrent calls with one key share one reading. */
  private read(name: string, cached: Cached): Promise<CallerKey | undefined> {
    cached.reading ??= this.readKey(name).then(
      (key) => {
        cached.reading = undefined;
        cached.key = key;
        cached.readAtMs = this.clock.monotonic();
        return key;
      },
      (error: unknown) => {
        cached.reading = undefined;
        if (cached.key === undefined) this.cache.delete(name);
        throw error;
      },
    );
    return cached.reading;
  }

  private refresh(name: string, cached: Cached): void {
    if (cached.reading) return;
    this.read(name, cached).catch((error: unknown) => {
      // The key stays good; the next call past a fresh period asks again.
      cached.readAtMs += FRESH_MS;
      this.log.warn({ err: error }, "a key could not be read again from the ledger");
    });
  }
}
