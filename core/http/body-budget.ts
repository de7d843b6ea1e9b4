import { type Refusal, refuse } from "../contract/refusal.ts";

/** This much of each body does not count, so that short requests are served while long ones take all of the budget. */
const FREE_BYTES = 16 * 1024;
/** The part of the budget that one key may use, as a divisor: a quarter of the bytes, and of the calls. */
const SHARE_OF_KEY = 4;

export interface BudgetLimits {
  /** Maximum bytes of all bodies that are arriving. */
  readonly bytesMax: number;
  /** Maximum bytes of one body: a key can always send one. */
  readonly bodyBytesMax: number;
  /** Maximum number of bodies that are arriving. */
  readonly bodiesMax: number;
}

/** The bodies of one key that are arriving. */
interface Use {
  bytes: number;
  bodies: number;
}

/**
 * Bounds the memory of request bodies that are arriving, over all callers and for each key. Without it, 150 connections
 * that send 20 MB each and then wait fill any machine.
 */
export class BodyBudget {
  limits: BudgetLimits;
  private bytes = 0;
  private readonly byKey = new Map<string, Use>();

  constructor(limits: BudgetLimits) {
    this.limits = limits;
  }

  /** Begins a body. End it with `release`. */
  open(): Share {
    return new Share(this);
  }

  /** A key may have its share, and always one whole body. */
  private get bytesOfKeyMax(): number {
    return Math.max(this.limits.bodyBytesMax, this.limits.bytesMax / SHARE_OF_KEY);
  }

  /** @internal Counts bytes for all, and for a key those that it has not announced. */
  take(bytes: number, key: string | undefined, bytesOfKey: number): Refusal | undefined {
    if (this.bytes + bytes > this.limits.bytesMax) return FULL;
    const use = key === undefined ? undefined : this.byKey.get(key);
    if (use && use.bytes + bytesOfKey > this.bytesOfKeyMax) return TOO_MUCH_OF_KEY;
    this.bytes += bytes;
    if (use) use.bytes += bytesOfKey;
    return undefined;
  }

  /** @internal */
  join(bytes: number, key: string): Refusal | undefined {
    const use = this.byKey.get(key) ?? { bytes: 0, bodies: 0 };
    const bodiesMax = Math.max(1, this.limits.bodiesMax / SHARE_OF_KEY);
    if (use.bodies >= bodiesMax || use.bytes + bytes > this.bytesOfKeyMax) return TOO_MUCH_OF_KEY;
    use.bytes += bytes;
    use.bodies++;
    this.byKey.set(key, use);
    return undefined;
  }

  /** @internal */
  leave(bytes: number, key: string | undefined, bytesOfKey: number): void {
    this.bytes -= bytes;
    const use = key === undefined ? undefined : this.byKey.get(key);
    if (!use || key === undefined) return;
    use.bytes -= bytesOfKey;
    use.bodies--;
    if (use.bodies === 0) this.byKey.delete(key);
  }
}

/** The part of the budget that one body takes. */
class Share {
  private readonly budget: BodyBudget;
  private bytes = 0;
  private counted = 0;
  private key: string | undefined = undefined;
  private countedOfKey = 0;
  private released = false;

  constructor(budget: BodyBudget) {
    this.budget = budget;
  }

  /** Counts bytes that have arrived. Returns why they cannot be kept. */
  add(bytes: number): Refusal | undefined {
    this.bytes += bytes;
    const counted = Math.max(0, this.bytes - FREE_BYTES) - this.counted;
    if (counted <= 0 || this.released) return undefined;
    const unannounced = Math.max(0, this.counted + counted - this.countedOfKey);
    const refusal = this.budget.take(counted, this.key, unannounced);
    if (refusal) return refusal;
    this.counted += counted;
    if (this.key !== undefined) this.countedOfKey += unannounced;
    return undefined;
  }

  /**
   * Counts this body for a key, with all bytes that it announces: those that the key's share cannot take are refused
   * before they arrive. Returns the refusal if the key must not send it now.
   */
  ofKey(key: string, bytesAnnounced = 0): Refusal | undefined {
    if (this.released) return undefined;
    const bytes = Math.max(this.counted, bytesAnnounced - FREE_BYTES);
    const refusal = this.budget.join(bytes, key);
    if (refusal) return refusal;
    this.key = key;
    this.countedOfKey = bytes;
    return undefined;
  }

  /** Gives back what this body took: it has been handed on, refused or cut off. */
  release(): void {
    if (this.released) return;
    this.released = true;
    this.budget.leave(this.counted, this.key, this.countedOfKey);
  }
}

export type { Share };

const FULL = refuse.unavailable(
  "The gateway is receiving as many long requests as it can take; try again shortly.",
);
const TOO_MUCH_OF_KEY = refuse.rateLimited(
  "Too many requests with this key are being sent at once; wait until some have arrived.",
  { headers: ["retry-after", "1"] },
);
