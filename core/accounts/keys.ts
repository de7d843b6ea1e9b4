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

/** A cached key is read again after this time, in the background. */
const FRESH_MS = 30_000;
/** A cached key is used this long while the ledger is down. Revocation does not depend on it. */
const STALE_MS = 3_600_000;
/** Unknown keys are cached briefly, so that guessing does not load the ledger. */
const UNKNOWN_MS = 5_000;
/**
 * A call waits at most this long for its key. The read goes on, so a later call finds its result. A ledger that is down
 * rejects at once; one that is only slow, on a busy machine, gets the time.
 */
const READ_TIMEOUT_MS = 5_000;
const CACHE_ENTRIES_MAX = 100_000;

const KEY_RANDOM_BYTES = 30;

/** What plugins provide for keys: the sealer, and the discounts that accounts have earned. */
export interface KeySlots {
  readonly keySealer: Pick<Slots["keySealer"], "current">;
  readonly discounts: Pick<Slots["discounts"], "all">;
}

interface Cached {
  key: CallerKey | undefined;
  readAtMs: number;
  reading: Promise<CallerKey | undefined> | undefined;
}

/** Creates API keys, looks them up by their SHA-256, revokes them in every process. */
export class CachedKeys implements Keys, KnownKeys {
  private readonly rows: KeyRows;
  private readonly holdStore: HoldStore;
  private readonly clock: Clock;
  private readonly log: ThrottledLog;
  /** By the SHA-256 of the key, in hexadecimal. */
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
   * Returns the record of a key, even if it is revoked; undefined if there is none. Returns synchronously if the key
   * is cached. Rejects if the key is not cached and the ledger is down or takes longer than 5 s.
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

  /** Once this resolves, every process refuses the key. Resolves with false if there is no such key. */
  async revoke(keyId: string): Promise<boolean> {
    const key = await this.rows.revoke(keyId);
    if (!key) return false;
    // First the step that cannot fail: if the hold store is down, at least this process refuses the key.
    this.cache.delete(key.hash.toString("hex"));
    await this.holdStore.revoke(keyId);
    return true;
  }

  /**
   * Reads a key that the hold store has refused from the ledger again. If key and account are active there (one
   * process suspended the account, another lifted it), restores the key in the hold store.
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
   * Reads the key again after a credit, which may have earned a discount. Returns the key unchanged if the ledger
   * fails or takes longer than 5 s: serving the call matters more than its discount.
   */
  async renew(key: CallerKey): Promise<CallerKey> {
    const reading = this.readSince(key).catch((error: unknown) => {
      this.log.warn({ err: error }, "cannot read a key after a credit; using its old discount");
      return key;
    });
    const now = await withTimeout(reading, READ_TIMEOUT_MS);
    return now === TIMED_OUT ? key : now;
  }

  /** Drops an account's cached keys: its discount or status has changed. */
  forgetAccount(accountId: string): void {
    const names: string[] = [];
    for (const [name, cached] of this.cache.entries()) {
      if (cached.key?.accountId === accountId) names.push(name);
    }
    // In a second loop: lru-cache does not define what deleting during an iteration does.
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
    throw new Error(`the ledger did not reply within ${READ_TIMEOUT_MS} ms`);
  }

  private async readSince(before: CallerKey): Promise<CallerKey> {
    const name = before.hash.toString("hex");
    const cached = this.cache.get(name) ?? this.remember(name);
    let now = await this.read(name, cached);
    // `read` may have joined a query that began before the credit. A second one begins after it.
    if (now?.creditVersion === before.creditVersion) now = await this.read(name, cached);
    return now ?? before;
  }

  /** Reads the credit version first, so that the discounts are never older than it. */
  private async readKey(name: string): Promise<CallerKey | undefined> {
    const key = await this.rows.byHash(Buffer.from(name, "hex"));
    if (key === undefined) return undefined;
    const sources = this.slots.discounts.all;
    const earned = await Promise.all(sources.map((source) => source(key.accountId)));
    return Object.assign(key, { discounts: earned.flat() });
  }

  /** Concurrent calls with one key share one query. */
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
      // Keep the key; try again after another `FRESH_MS`.
      cached.readAtMs += FRESH_MS;
      this.log.warn({ err: error }, "cannot refresh a key from the ledger; using the cached one");
    });
  }
}
