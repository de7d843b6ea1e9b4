import { createHmac } from "node:crypto";
import type { Failure, KeyState } from "../plugin/config.ts";
import { backoffMs } from "../process/backoff.ts";
import type { Clock } from "../process/clock.ts";
import { hashOf } from "../process/hash.ts";
import { placeOf } from "./conversation.ts";
import type { Fault } from "./refusals.ts";

/**
 * How long a key rests after the first refusal of its kind, and at most; it doubles with each in a row. A limit that states
 * no time may end at any moment, and a try that is refused costs nothing: so the key serves calls at most 4 s after that.
 */
const RESTS: Readonly<Partial<Record<Fault, readonly [firstMs: number, mostMs: number]>>> = {
  limit: [1_000, 4_000],
  key: [60_000, 600_000],
  account: [60_000, 600_000],
  access: [60_000, 600_000],
  model: [60_000, 600_000],
};
/** A provider's own `retry-after` may be longer. It is asked again after this. */
const RETRY_AFTER_MS_MAX = 3_600_000;
/** A refusal tells operators nothing any more if no call has tried the key again for so long after its rest. */
const TOLD_MS = 3_600_000;
/** A call that tries a key after its rest is its probe. Others leave the key alone until it has a result, or for this. */
const PROBE_MS = 30_000;

const NAMING = "tollgate: name of a provider's key";

/** Faults that concern the key with one model. Others concern all that it may call. */
const OF_A_MODEL: ReadonlySet<Fault> = new Set(["limit", "access", "model"]);

/** Why and how long a key is left alone: for one model, or for all. */
interface Rest {
  /** When the latest refusal in the row came. A call that was sent before says nothing of it. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly inRow: number;
  readonly fault: Fault;
  /** Until then a call that tries the key may have its result. */
  probedUntilMs: number;
}

const endOf = ({ untilMs, probedUntilMs }: Rest): number => Math.max(untilMs, probedUntilMs);

/** When a refused call was sent, when its refusal came, and for how long the provider wants to be left alone. */
interface RefusalTimes {
  readonly sentMs: number;
  readonly nowMs: number;
  readonly retryAfterMs?: number | undefined;
}

/** One key of an upstream. A kind without keys has one without a text. */
export class PooledKey implements KeyState {
  /** The same for the same key at every gateway, so that operators can name it. Reveals nothing of it. */
  readonly id: string;
  readonly last4: string;
  readonly seed: number;
  isOff = false;
  lastUsedMs: number | undefined = undefined;
  failures = 0;
  lastFailure: Failure | undefined = undefined;
  /** By model; that of all models has an empty name. Empty while the key works, which it nearly always does. */
  private readonly rests = new Map<string, Rest>();
  private readonly calls = new Map<string, number>();

  constructor(readonly text: string) {
    this.id = createHmac("sha256", NAMING).update(text).digest("hex").slice(0, 16);
    this.last4 = text.length >= 12 ? text.slice(-4) : "";
    this.seed = hashOf(this.id);
  }

  /** When the key may be tried for a model, on the monotonic clock; 0 if it does not rest. */
  wakesAtMs(model: string): number {
    if (this.rests.size === 0) return 0;
    return Math.max(this.endOfRest(""), this.endOfRest(model));
  }

  private endOfRest(of: string): number {
    const rest = this.rests.get(of);
    return rest ? endOf(rest) : 0;
  }

  /** How many calls of a model are in flight with it. */
  callsOf(model: string): number {
    return this.calls.get(model) ?? 0;
  }

  /** Notes that a call is sent with it, which `release` ends. */
  use(model: string, nowMs: number): void {
    this.lastUsedMs = nowMs;
    this.calls.set(model, this.callsOf(model) + 1);
    if (this.rests.size === 0) return;
    for (const of of ["", model]) {
      const rest = this.rests.get(of);
      if (rest) rest.probedUntilMs = nowMs + PROBE_MS;
    }
  }

  release(model: string): void {
    this.calls.set(model, this.callsOf(model) - 1);
  }

  /** Ends its rest: it has served a call that was sent at this time, after the refusal. Returns true if it rested. */
  succeed(model: string, sentMs: number): boolean {
    if (this.rests.size === 0) return false;
    const ended = ["", model].filter((of) => (this.rests.get(of)?.sinceMs ?? sentMs + 1) <= sentMs);
    for (const of of ended) this.rests.delete(of);
    return ended.length > 0;
  }

  /**
   * Rests it after a refusal, for as long as the provider says or its kind needs. Returns true if it did not rest for
   * this before.
   */
  fail(
    fault: Fault,
    reason: string,
    model: string,
    { sentMs, nowMs, retryAfterMs }: RefusalTimes,
  ): boolean {
    this.failures += 1;
    this.lastFailure = { atMs: nowMs, reason };
    const times = RESTS[fault];
    if (!times) return false;
    const of = OF_A_MODEL.has(fault) ? model : "";
    const before = this.rests.get(of);
    const same = before?.fault === fault ? before : undefined;
    // Calls that were under way together are refused for one reason.
    const isEarlier = same !== undefined && sentMs < same.sinceMs;
    const inRow = (same?.inRow ?? 0) + (isEarlier ? 0 : 1);
    const ownMs = backoffMs(inRow, times[0], times[1]);
    const forMs = Math.min(retryAfterMs ?? ownMs, RETRY_AFTER_MS_MAX);
    // No refusal shortens the rest that another has brought.
    const untilMs = Math.max(before?.untilMs ?? 0, nowMs + forMs);
    // An earlier one moves nothing: under steady traffic each call is sent before some refusal, and the row must grow.
    const { sinceMs, probedUntilMs } = isEarlier ? same : { sinceMs: nowMs, probedUntilMs: 0 };
    this.rests.set(of, { sinceMs, untilMs, inRow, fault, probedUntilMs });
    return same === undefined;
  }

  /** Its rests, for operators; those that are over too, until the key serves a call, or for an hour. An empty `model` stands for all. */
  restsAt(nowMs: number): { model: string; fault: string; inMs: number }[] {
    const told = [...this.rests].filter(([, rest]) => endOf(rest) > nowMs - TOLD_MS);
    return told.map(([model, rest]) => {
      return { model, fault: rest.fault, inMs: Math.max(0, endOf(rest) - nowMs) };
    });
  }
}

/** The keys of an upstream, which share its calls and rest one by one. */
export class KeyPool {
  readonly keys: readonly PooledKey[];

  constructor(
    texts: readonly string[],
    private readonly clock: Pick<Clock, "monotonic">,
  ) {
    this.keys = (texts.length > 0 ? texts : [""]).map((text) => new PooledKey(text));
  }

  /** Returns the conversation's key of those that do not rest for this model and that the call has not tried. */
  awake(model: string, tried: readonly PooledKey[], conversation: number): PooledKey | undefined {
    const free = this.keys.filter((key) => !tried.includes(key) && this.isAwake(key, model));
    const places = free.map((key) => ({
      ...{ key, seed: key.seed, weight: 1, load: key.callsOf(model) },
    }));
    return placeOf(conversation, places)?.key;
  }

  /** How many calls of a model are in flight with all keys. */
  callsOf(model: string): number {
    return this.keys.reduce((sum, key) => sum + key.callsOf(model), 0);
  }

  /** Returns true if a key does not rest for this model. */
  hasAwake(model: string): boolean {
    for (const key of this.keys) if (this.isAwake(key, model)) return true;
    return false;
  }

  wakesFirst(model: string, tried: readonly PooledKey[]): PooledKey | undefined {
    let first: PooledKey | undefined;
    for (const key of this.keys) {
      if (key.isOff || tried.includes(key)) continue;
      if (!first || key.wakesAtMs(model) < first.wakesAtMs(model)) first = key;
    }
    return first;
  }

  /** Milliseconds until a key may be tried for a model; 0 if it may now. */
  wakesInMs(key: PooledKey, model: string): number {
    const wakesAtMs = key.wakesAtMs(model);
    return wakesAtMs === 0 ? 0 : Math.max(0, wakesAtMs - this.clock.monotonic());
  }

  private isAwake(key: PooledKey, model: string): boolean {
    return !key.isOff && this.wakesInMs(key, model) === 0;
  }
}
