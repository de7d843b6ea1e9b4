import { createHmac, hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
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
  KEY_PREFIX,
  KEY_SHOWN_CHARACTERS,
  type KeyRecord,
  type KeySealer,
  type NewKeyResult,
  type TeamMembers,
} from "./account.ts";
import type { KnownKeys } from "./accounts.ts";
import { KeyLimits, type KeyLimitsChange } from "./key-limits.ts";
import type { KeyRows } from "./key-rows.ts";

/** A cached key is read again after this time, in the background. */
const FRESH_MS = 30_000;
/**
 * A call waits at most this long for its key. The read goes on, so a later call finds its result. A ledger that is down
 * rejects at once; one that is only slow, on a busy machine, gets the time.
 */
const READ_TIMEOUT_MS = 5_000;
/** The values that plugins provide for keys: the sealer, the discounts that accounts have earned, the limits of members. */
export interface KeySlots {
  readonly keySealer: { readonly current: KeySealer | undefined };
  readonly discounts: { readonly all: readonly DiscountSource[] };
  readonly teamMembers: { readonly current: TeamMembers | undefined };
}

export interface CachedKeysOptions {
  readonly rows: KeyRows;
  readonly holdStore: HoldStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly slots: KeySlots;
  /** Maximum memory for cached keys, in bytes; a key takes about 0.6 KB. */
  readonly cacheBytesMax: number;
}

export type Keys = Pick<
  CachedKeys,
  "find" | "create" | "revoke" | "revokeAll" | "refused" | "renew"
>;

/** Creates API keys, finds them by their SHA-256, and revokes them at once in every process. */
export class CachedKeys implements KnownKeys {
  private readonly log: ThrottledLog;
  private readonly cache: KeyCache;
  private readonly readings: KeyReadings;
  private readonly form: KeyForm;

  constructor(private readonly options: CachedKeysOptions) {
    this.log = new ThrottledLog(options.log);
    this.cache = new KeyCache(options.cacheBytesMax);
    this.form = new KeyForm(options.rows);
    this.readings = new KeyReadings(
      (name) => this.readKey(name),
      (name, key) => this.store(name, key),
    );
  }

  start(): Promise<void> {
    return this.form.start();
  }

  /**
   * Returns the record of a key, even if it is revoked; undefined if there is none. Returns synchronously if the key is
   * cached, or if no key has this form. Rejects if it is not cached, and the ledger is down or takes longer than 5 s.
   */
  find(secret: string): CallerKey | undefined | Promise<CallerKey | undefined> {
    const name = hash("sha256", secret, "hex");
    const cached = this.cache.get(name);
    const nowMs = this.options.clock.monotonic();
    if (!cached) return this.form.canBeKey(secret) ? this.readSoon(name) : undefined;
    if (nowMs >= cached.readAtMs + KEY_KEPT_MS) return this.readSoon(name);
    if (nowMs >= cached.refreshAtMs) this.refresh(name, cached, nowMs);
    return cached.key;
  }

  async create(
    accountId: string,
    name: string,
    activeKeysMax: number,
    limits: KeyLimitsChange = {},
    memberId?: string,
  ): Promise<NewKeyResult> {
    const secret = await this.form.create();
    const prefix = secret.slice(0, KEY_SHOWN_CHARACTERS);
    const id = newId(this.options.clock.now());
    const result = await this.options.rows.create({
      id,
      accountId,
      name,
      hash: hash("sha256", secret, "hex"),
      prefix,
      activeKeysMax,
      sealed: this.options.slots.keySealer.current?.seal(id, accountId, secret) ?? null,
      limits,
      memberId,
    });
    return result === "created" ? { kind: "created", id, key: secret, prefix } : { kind: result };
  }

  /** Revokes a key. Once this resolves, every process refuses the key. Returns false if the key does not exist. */
  async revoke(keyId: string): Promise<boolean> {
    const key = await this.options.rows.revoke(keyId);
    if (!key) return false;
    // First the step that cannot fail: if the hold store is down, at least this process refuses the key.
    this.forgetAccount(key.accountId);
    await this.options.holdStore.revoke(keyId, key.accountId);
    return true;
  }

  /** Revokes keys, each even if another fails. Rejects once all were tried, if one failed. */
  async revokeAll(keyIds: readonly string[]): Promise<void> {
    const results = await Promise.allSettled(keyIds.map((keyId) => this.revoke(keyId)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  /**
   * Reads a key from the ledger again, to find out why the hold store refused it. Restores the key if it is active: one
   * process paused it or its account, and another resumed it.
   */
  async refused(key: KeyRecord): Promise<CallerKey | undefined> {
    this.forgetAccount(key.accountId);
    const now = await this.readings.read(key.hash);
    const isActive = now?.status === "active" && now.accountStatus === "active";
    if (isActive && !now.limits?.isPaused)
      await this.options.holdStore.restore(now.id, now.accountId);
    return now;
  }

  /**
   * Reads a key again after a credit, which may have earned a discount. Returns it unchanged if the ledger is too slow. Its
   * timeout begins with the first call that needs the reading, so that a slow ledger does not delay each call.
   */
  async renew(key: CallerKey): Promise<CallerKey> {
    try {
      let now = await this.readings.shared(key.hash);
      // This may have joined a query that began before the credit. A second one begins after it.
      if (now !== TIMED_OUT && now?.creditVersion === key.creditVersion)
        now = await this.readings.shared(key.hash);
      return now === TIMED_OUT || now === undefined ? key : now;
    } catch (error) {
      this.log.warn({ err: error }, "cannot read a key after a credit; using its old discount");
      return key;
    }
  }

  /** Drops an account's cached keys: its discount or status has changed. */
  forgetAccount(accountId: string): void {
    this.cache.deleteAccount(accountId);
    this.readings.accountChanged(accountId);
  }

  private async readSoon(name: string): Promise<CallerKey | undefined> {
    const key = await withTimeout(this.readings.read(name), READ_TIMEOUT_MS);
    if (key !== TIMED_OUT) return key;
    throw new Error(`the ledger did not reply within ${READ_TIMEOUT_MS} ms`);
  }

  /** Reads the credit version first, so that the discounts are never older than it. */
  private async readKey(name: string): Promise<CallerKey | undefined> {
    const key = await this.options.rows.byHash(name);
    if (key === undefined) return undefined;
    const sources = this.options.slots.discounts.all;
    const [earned, limits] = await Promise.all([
      Promise.all(sources.map((source) => source(key.accountId))),
      key.memberId === null ? key.limits : this.withMember(key, key.memberId),
    ]);
    const discounts = earned.flat();
    return Object.assign(key, {
      discounts: discounts.length > 0 ? discounts : NO_DISCOUNTS,
      limits,
    });
  }

  /** Returns the limits of a key and its member. Without the plugin that knows him the key is paused, not unlimited. */
  private async withMember({ id, limits }: KeyRecord, memberId: string): Promise<KeyLimits> {
    const ofMember = await this.options.slots.teamMembers.current?.limitsOf(memberId);
    const all = limits ?? new KeyLimits({ kind: "key", id }, {});
    all.ofMember = new KeyLimits({ kind: "member", id: memberId }, ofMember ?? { paused: true });
    return all;
  }

  private store(name: string, key: CallerKey | undefined): void {
    const nowMs = this.options.clock.monotonic();
    if (key === undefined) this.cache.delete(name);
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

const RANDOM_BYTES = 30;
const RANDOM_CHARACTERS = (RANDOM_BYTES / 3) * 4;
/** Length of the MAC: one guess in 2^48 passes, and then costs one read. */
const MAC_BYTES = 6;

/**
 * The form of API keys: `tg-`, 40 random characters, and 8 of a MAC under a secret of the ledger. So a guess is refused
 * without a read.
 */
export class KeyForm {
  private secret: Buffer | undefined = undefined;

  constructor(private readonly rows: Pick<KeyRows, "macSecret">) {}

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

interface Reading {
  /** How many changes were known when the query began. */
  readonly change: number;
  readonly result: Promise<CallerKey | undefined>;
  /** Rejects and resolves with `result`, within a timeout that begins with the first call that waits. */
  shared?: ReturnType<typeof withTimeout<CallerKey | undefined>>;
}

/**
 * Reads keys from the ledger. Concurrent reads of one key share one query. A key whose account changes during the
 * query is read again: the query may have seen it as it was before.
 */
class KeyReadings {
  /** Running queries by the name of the key, oldest first. */
  private readonly running = new Map<string, Reading>();
  /** Accounts that changed since the oldest running query began, with the number of their last change, oldest first. */
  private readonly changed = new Map<string, number>();
  private changes = 0;

  /** `store` is called once for each query that succeeded, in the same step as the check for changes. */
  constructor(
    private readonly readKey: (name: string) => Promise<CallerKey | undefined>,
    private readonly store: (name: string, key: CallerKey | undefined) => void,
  ) {}

  read(name: string): Promise<CallerKey | undefined> {
    const running = this.running.get(name);
    if (running) return running.result;
    const change = this.changes;
    const result = this.readKey(name).then(
      (key) => {
        const hasChanged = key !== undefined && (this.changed.get(key.accountId) ?? 0) > change;
        this.end(name);
        if (hasChanged) return this.read(name);
        this.store(name, key);
        return key;
      },
      (error: unknown) => {
        this.end(name);
        throw error;
      },
    );
    this.running.set(name, { change, result });
    return result;
  }

  /** As `read`, within one timeout for all callers that wait for a query: a slow ledger delays them once. */
  shared(name: string): NonNullable<Reading["shared"]> {
    const result = this.read(name);
    const reading = this.running.get(name) ?? { change: 0, result };
    reading.shared ??= withTimeout(result, READ_TIMEOUT_MS);
    return reading.shared;
  }

  /** Call when an account changes. Results of queries that are running are then not used for it. */
  accountChanged(accountId: string): void {
    this.changes += 1;
    if (this.running.size === 0) return;
    this.changed.delete(accountId);
    this.changed.set(accountId, this.changes);
  }

  private end(name: string): void {
    this.running.delete(name);
    const [oldest] = this.running.values();
    for (const [accountId, change] of this.changed) {
      if (oldest !== undefined && change > oldest.change) return;
      this.changed.delete(accountId);
    }
  }
}

/** Memory of a cached key in bytes, without the texts of `bytesOf`: its record, and its places in cache and index. */
const KEY_BYTES = 480;
const DISCOUNT_BYTES = 150;

interface KnownKey {
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
  private readonly byAccount = new Map<string, readonly string[]>();

  constructor(bytesMax: number) {
    this.known = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ key }) => bytesOf(key),
      dispose: ({ key: { accountId } }, name) => {
        const others = this.namesOf(accountId).filter((other) => other !== name);
        if (others.length > 0) this.byAccount.set(accountId, others);
        else this.byAccount.delete(accountId);
      },
    });
  }

  get keys(): number {
    return this.known.size;
  }

  get(name: string): KnownKey | undefined {
    return this.known.get(name);
  }

  set(name: string, known: KnownKey): void {
    const { accountId } = known.key;
    this.known.set(name, known);
    // The cache does not take a key that alone exceeds its size.
    if (this.known.has(name)) this.byAccount.set(accountId, this.namesOf(accountId).concat(name));
  }

  delete(name: string): void {
    this.known.delete(name);
  }

  /** Drops an account's keys. Costs the same however many keys are cached. */
  deleteAccount(accountId: string): void {
    const names = this.namesOf(accountId);
    // First, so that no name is looked for among all others of the account.
    this.byAccount.delete(accountId);
    for (const name of names) this.known.delete(name);
  }

  private namesOf(accountId: string): readonly string[] {
    return this.byAccount.get(accountId) ?? [];
  }
}

/** Returns the approximate memory of a key in bytes. A character of a name may take two bytes. */
function bytesOf({ id, accountId, hash, name, discounts, limits }: CallerKey): number {
  const texts = id.length + accountId.length + hash.length + 2 * name.length;
  return KEY_BYTES + texts + DISCOUNT_BYTES * discounts.length + (limits?.bytes ?? 0);
}
