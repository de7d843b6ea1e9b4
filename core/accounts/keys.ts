import { hash } from "node:crypto";
import type { DiscountSource } from "../catalogue/discount.ts";
import type { HoldStore } from "../money/hold-store.ts";
import { KEY_KEPT_MS } from "../money/lifetimes.ts";
import type { Clock } from "../process/clock.ts";
import { newId } from "../process/id.ts";
import type { Log } from "../process/log.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import {
  type CallerKey,
  KEY_SHOWN_CHARACTERS,
  type KeyRecord,
  type KeySealer,
  type Keys,
  type NewKeyResult,
} from "./account.ts";
import type { KnownKeys } from "./accounts.ts";
import { KeyCache, type KnownKey } from "./key-cache.ts";
import { KeyForm } from "./key-form.ts";
import { KeyReadings } from "./key-readings.ts";
import type { KeyRows } from "./key-rows.ts";

/** A cached key is read again after this time, in the background. */
const FRESH_MS = 30_000;
/**
 * A call waits at most this long for its key. The read goes on, so a later call finds its result. A ledger that is down
 * rejects at once; one that is only slow, on a busy machine, gets the time.
 */
const READ_TIMEOUT_MS = 5_000;
/** The values that plugins provide for keys: the sealer, and the discounts that accounts have earned. */
export interface KeySlots {
  readonly keySealer: { readonly current: KeySealer | undefined };
  readonly discounts: { readonly all: readonly DiscountSource[] };
}

interface Renewal {
  /** Undefined if the ledger failed. */
  readonly result: Promise<CallerKey | undefined>;
  /** Until then calls wait for the result. */
  readonly untilMs: number;
}

interface CachedKeysOptions {
  readonly rows: KeyRows;
  readonly holdStore: HoldStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly slots: KeySlots;
  /** Maximum memory for cached keys, in bytes; a key takes about 0.6 KB. */
  readonly cacheBytesMax: number;
}

/** Creates API keys, looks them up by their SHA-256, revokes them in every process. */
export class CachedKeys implements Keys, KnownKeys {
  private readonly rows: KeyRows;
  private readonly holdStore: HoldStore;
  private readonly clock: Clock;
  private readonly log: ThrottledLog;
  private readonly cache: KeyCache;
  private readonly readings: KeyReadings;
  private readonly slots: KeySlots;
  private readonly form: KeyForm;
  /** Running reads after a credit, by the name of the key. */
  private readonly renewals = new Map<string, Renewal>();

  constructor({ rows, holdStore, clock, log, slots, cacheBytesMax }: CachedKeysOptions) {
    this.rows = rows;
    this.holdStore = holdStore;
    this.clock = clock;
    this.log = new ThrottledLog(log);
    this.slots = slots;
    this.cache = new KeyCache(cacheBytesMax);
    this.form = new KeyForm(rows);
    this.readings = new KeyReadings({
      readKey: (name) => this.readKey(name),
      store: (name, key) => this.store(name, key),
    });
  }

  /** Loads the secret of key forms. Until this has resolved, strings that cannot be keys are read too. */
  start(): Promise<void> {
    return this.form.start();
  }

  /**
   * Returns the record of a key, even if it is revoked; undefined if there is none. Returns synchronously if the key
   * is cached, or if no key has this form. Rejects if the key is not cached and the ledger is down or takes longer than
   * 5 s.
   */
  find(secret: string): CallerKey | undefined | Promise<CallerKey | undefined> {
    const name = hash("sha256", secret, "hex");
    const cached = this.cache.get(name);
    const nowMs = this.clock.monotonic();
    if (!cached) return this.cache.isUnknown(name, nowMs) ? undefined : this.readNew(secret, name);
    if (nowMs >= cached.readAtMs + KEY_KEPT_MS) return this.readSoon(name);
    if (nowMs >= cached.refreshAtMs) this.refresh(name, cached, nowMs);
    return cached.key;
  }

  async create(accountId: string, name: string, activeKeysMax: number): Promise<NewKeyResult> {
    const secret = await this.form.create();
    const prefix = secret.slice(0, KEY_SHOWN_CHARACTERS);
    const id = newId(this.clock.now());
    const result = await this.rows.create({
      id,
      accountId,
      name,
      hash: hash("sha256", secret, "hex"),
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
    this.forgetAccount(key.accountId);
    await this.holdStore.revoke(keyId, key.accountId);
    return true;
  }

  /**
   * Reads a key again from the ledger after the hold store has refused it. If key and account are active there (one
   * process suspended the account, another reactivated it), restores the key in the hold store.
   */
  async refused(key: KeyRecord): Promise<CallerKey | undefined> {
    this.forgetAccount(key.accountId);
    const now = await this.readings.read(key.hash);
    if (now?.status === "active" && now.accountStatus === "active")
      await this.holdStore.restore(now.id, now.accountId);
    return now;
  }

  /**
   * Reads the key again after a credit, which may have earned a discount. Returns the key unchanged if the ledger
   * fails or takes longer than 5 s: serving the call matters more than its discount. The 5 s begin with the first call
   * that needs the reading, so that a slow ledger does not delay each call of the account by them.
   */
  async renew(key: CallerKey): Promise<CallerKey> {
    const { hash: name } = key;
    const nowMs = this.clock.monotonic();
    let renewal = this.renewals.get(name);
    if (renewal === undefined) {
      renewal = { result: this.readAfterCredit(key), untilMs: nowMs + READ_TIMEOUT_MS };
      this.renewals.set(name, renewal);
    }
    if (nowMs >= renewal.untilMs) return key;
    const now = await withTimeout(renewal.result, renewal.untilMs - nowMs);
    return now === TIMED_OUT || now === undefined ? key : now;
  }

  /** Drops an account's cached keys: its discount or status has changed. */
  forgetAccount(accountId: string): void {
    this.cache.deleteAccount(accountId);
    this.readings.accountChanged(accountId);
  }

  private readNew(secret: string, name: string): undefined | Promise<CallerKey | undefined> {
    return this.form.canBeKey(secret) ? this.readSoon(name) : undefined;
  }

  private async readSoon(name: string): Promise<CallerKey | undefined> {
    const key = await withTimeout(this.readings.read(name), READ_TIMEOUT_MS);
    if (key !== TIMED_OUT) return key;
    throw new Error(`the ledger did not reply within ${READ_TIMEOUT_MS} ms`);
  }

  /** Returns undefined if the ledger fails. */
  private async readAfterCredit(key: CallerKey): Promise<CallerKey | undefined> {
    try {
      return await this.readSince(key);
    } catch (error) {
      this.log.warn({ err: error }, "cannot read a key after a credit; using its old discount");
      return undefined;
    } finally {
      this.renewals.delete(key.hash);
    }
  }

  private async readSince(before: CallerKey): Promise<CallerKey> {
    const name = before.hash;
    let now = await this.readings.read(name);
    // `read` may have joined a query that began before the credit. A second one begins after it.
    if (now?.creditVersion === before.creditVersion) now = await this.readings.read(name);
    return now ?? before;
  }

  /** Reads the credit version first, so that the discounts are never older than it. */
  private async readKey(name: string): Promise<CallerKey | undefined> {
    const key = await this.rows.byHash(name);
    if (key === undefined) return undefined;
    const sources = this.slots.discounts.all;
    const earned = await Promise.all(sources.map((source) => source(key.accountId)));
    const discounts = earned.flat();
    return Object.assign(key, { discounts: discounts.length > 0 ? discounts : NO_DISCOUNTS });
  }

  private store(name: string, key: CallerKey | undefined): void {
    const nowMs = this.clock.monotonic();
    if (key === undefined) this.cache.setUnknown(name, nowMs);
    else this.cache.set(name, { key, readAtMs: nowMs, refreshAtMs: nowMs + FRESH_MS });
  }

  private refresh(name: string, cached: KnownKey, nowMs: number): void {
    // Set before the query, so that no other call begins one while it runs, or right after it has failed.
    cached.refreshAtMs = nowMs + FRESH_MS;
    this.readings.read(name).catch((error: unknown) => {
      this.log.warn({ err: error }, "cannot refresh a key from the ledger; using the cached one");
    });
  }
}

/** One list for all keys without discounts, so that nothing is allocated for them. */
const NO_DISCOUNTS: CallerKey["discounts"] = [];
