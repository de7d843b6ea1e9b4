import type { Clock } from "../process/clock.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import { BodyPace, type Rest } from "./pace.ts";

/** This much of each body does not count, so that short requests are served while long ones take all of the budget. */
const FREE_BYTES = 16 * 1024;
/** The part of the budget that one key may use, as a divisor: a quarter of the bytes, and of the calls. */
const SHARE_OF_KEY = 4;
/** The part of the budget for requests that hold no money, as a divisor. Of it, a key may have one body at a time. */
const SHARE_OF_FREE = 8;
/** This much of each body is read without a wait, and not counted. */
const PROMPT_BYTES = 512 * 1024;
/** Requests without a valid key share one pace. */
const STRANGERS = "";

interface BudgetLimits {
  /** Maximum bytes of all bodies that are arriving. */
  readonly bytesMax: number;
  /** Maximum bytes of one body: a key can always send one. */
  readonly bodyBytesMax: number;
  /** Maximum number of bodies that are arriving. */
  readonly bodiesMax: number;
}

export function budgetLimits(limits: {
  readonly receivingBytesMax: number;
  readonly bodyBytesMax: number;
  readonly callsMax: number;
}): BudgetLimits {
  const { receivingBytesMax, bodyBytesMax, callsMax } = limits;
  return { bytesMax: receivingBytesMax, bodyBytesMax, bodiesMax: callsMax };
}

/** The bodies of one key that are arriving. */
interface Use {
  bytes: number;
  bodies: number;
}

/** Whose request a body belongs to, once that is known. */
interface Sender {
  readonly key?: { readonly accountId: string } | undefined;
}

/**
 * Bounds the memory of request bodies that are arriving, over all callers and for each key, and how fast they are read.
 * Without it, 150 connections that send 20 MB each and then wait fill any machine.
 */
export class BodyBudget {
  limits: BudgetLimits;
  /** @internal */
  readonly pace: BodyPace;
  private bytes = 0;
  private freeBytes = 0;
  private readonly byKey = new Map<string, Use>();

  constructor(limits: BudgetLimits, clock: Pick<Clock, "monotonic">) {
    this.limits = limits;
    this.pace = new BodyPace(clock);
  }

  /** Begins a body. End it with `release`. */
  open(sender: Sender = {}): Share {
    return new Share(this, sender);
  }

  /** A key may have its share, and always one whole body. */
  private bytesOfKeyMax(isFree: boolean): number {
    const { bodyBytesMax, bytesMax } = this.limits;
    return isFree ? bodyBytesMax : Math.max(bodyBytesMax, bytesMax / SHARE_OF_KEY);
  }

  private hasRoom(use: Use, bytesOfKey: number, isFree: boolean): Refusal | undefined {
    if (use.bytes + bytesOfKey > this.bytesOfKeyMax(isFree)) return TOO_MUCH_OF_KEY;
    const { bodyBytesMax, bytesMax } = this.limits;
    const freeMax = Math.max(bodyBytesMax, bytesMax / SHARE_OF_FREE);
    return isFree && this.freeBytes + bytesOfKey > freeMax ? FULL : undefined;
  }

  /** @internal Counts bytes for all, and for a key those that it has not announced. */
  take(
    bytes: number,
    key: string | undefined,
    bytesOfKey: number,
    isFree: boolean,
  ): Refusal | undefined {
    if (this.bytes + bytes > this.limits.bytesMax) return FULL;
    const use = key === undefined ? undefined : this.byKey.get(key);
    const refusal = use && this.hasRoom(use, bytesOfKey, isFree);
    if (refusal) return refusal;
    this.bytes += bytes;
    if (use) use.bytes += bytesOfKey;
    if (isFree) this.freeBytes += bytesOfKey;
    return undefined;
  }

  /** @internal */
  join(bytes: number, key: string, isFree: boolean): Refusal | undefined {
    const use = this.byKey.get(key) ?? { bytes: 0, bodies: 0 };
    const bodiesMax = Math.max(1, this.limits.bodiesMax / SHARE_OF_KEY);
    if (use.bodies >= bodiesMax) return TOO_MUCH_OF_KEY;
    const refusal = this.hasRoom(use, bytes, isFree);
    if (refusal) return refusal;
    use.bytes += bytes;
    use.bodies++;
    if (isFree) this.freeBytes += bytes;
    this.byKey.set(key, use);
    return undefined;
  }

  /** @internal */
  leave(bytes: number, key: string | undefined, bytesOfKey: number, isFree: boolean): void {
    this.bytes -= bytes;
    const use = key === undefined ? undefined : this.byKey.get(key);
    if (!use || key === undefined) return;
    if (isFree) this.freeBytes -= bytesOfKey;
    use.bytes -= bytesOfKey;
    use.bodies--;
    if (use.bodies === 0) this.byKey.delete(key);
  }
}

/** The part of the budget that one body takes. */
class Share {
  private readonly budget: BodyBudget;
  private readonly sender: Sender;
  private bytesRead = 0;
  private bytes = 0;
  private counted = 0;
  private key: string | undefined = undefined;
  private countedOfKey = 0;
  private isFree = false;
  private released = false;

  constructor(budget: BodyBudget, sender: Sender) {
    this.budget = budget;
    this.sender = sender;
  }

  /** Counts bytes that were read. Returns for how many ms to read no more of this body; 0 for none. */
  read(bytes: number, isKept = true): number {
    this.bytesRead += bytes;
    const slow = Math.min(bytes, this.bytesRead - PROMPT_BYTES);
    if (slow <= 0) return 0;
    const { pace } = this.budget;
    return isKept ? pace.read(this.account, slow) : pace.readDropped(this.account, slow);
  }

  /** Decides about the rest of this body, which is refused, and counts it. */
  drop(bytes: number): Rest {
    return this.budget.pace.drop(this.account, bytes);
  }

  private get account(): string {
    return this.sender.key?.accountId ?? STRANGERS;
  }

  /** Counts bytes that have arrived. Returns why they cannot be kept. */
  add(bytes: number): Refusal | undefined {
    this.bytes += bytes;
    const counted = Math.max(0, this.bytes - FREE_BYTES) - this.counted;
    if (counted <= 0 || this.released) return undefined;
    const unannounced = Math.max(0, this.counted + counted - this.countedOfKey);
    const refusal = this.budget.take(counted, this.key, unannounced, this.isFree);
    if (refusal) return refusal;
    this.counted += counted;
    if (this.key !== undefined) this.countedOfKey += unannounced;
    return undefined;
  }

  /**
   * Counts this body for a key, with all bytes that it announces: those that the key's share cannot take are refused
   * before they arrive. Returns the refusal if the key must not send it now. `isFree`: the request holds no money, so
   * that a stranger can send it as often as one likes.
   */
  ofKey(key: string, bytesAnnounced = 0, isFree = false): Refusal | undefined {
    if (this.released) return undefined;
    const bytes = Math.max(this.counted, bytesAnnounced - FREE_BYTES);
    const name = isFree ? `free ${key}` : key;
    const refusal = this.budget.join(bytes, name, isFree);
    if (refusal) return refusal;
    this.key = name;
    this.isFree = isFree;
    this.countedOfKey = bytes;
    return undefined;
  }

  /** Gives back what this body took: it has been handed on, refused or cut off. */
  release(): void {
    if (this.released) return;
    this.released = true;
    this.budget.leave(this.counted, this.key, this.countedOfKey, this.isFree);
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
