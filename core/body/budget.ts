import { LRUCache } from "lru-cache";
import type { Clock } from "../process/clock.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";

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
  readonly receivingBytesMax: number;
  /** Maximum bytes of one body: a key can always send one. */
  readonly bodyBytesMax: number;
  /** Maximum number of bodies that are arriving. */
  readonly callsMax: number;
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
    const { bodyBytesMax, receivingBytesMax } = this.limits;
    return isFree ? bodyBytesMax : Math.max(bodyBytesMax, receivingBytesMax / SHARE_OF_KEY);
  }

  private hasRoom(use: Use, bytesOfKey: number, isFree: boolean): Refusal | undefined {
    if (use.bytes + bytesOfKey > this.bytesOfKeyMax(isFree)) return TOO_MUCH_OF_KEY;
    const { bodyBytesMax, receivingBytesMax } = this.limits;
    const freeMax = Math.max(bodyBytesMax, receivingBytesMax / SHARE_OF_FREE);
    return isFree && this.freeBytes + bytesOfKey > freeMax ? FULL : undefined;
  }

  /** @internal Counts bytes for all, and for a key those that it has not announced. */
  take(
    bytes: number,
    key: string | undefined,
    bytesOfKey: number,
    isFree: boolean,
  ): Refusal | undefined {
    if (this.bytes + bytes > this.limits.receivingBytesMax) return FULL;
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
    const bodiesMax = Math.max(1, this.limits.callsMax / SHARE_OF_KEY);
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

const BYTES_PER_MB = 1_048_576;
/** Bytes that are read in a ms: of one account, and of all. */
const BYTES_OF_ACCOUNT = (64 * BYTES_PER_MB) / 1_000;
const BYTES_OF_ALL = (128 * BYTES_PER_MB) / 1_000;
/** An account that has sent nothing for this long may send as much at once as it may in this time. */
const BURST_MS = 500;
/** The longest wait: uWebSockets.js cuts a connection that is paused for 10 s. */
const WAIT_MS_MAX = 1_000;
/** Bytes that are read and dropped cost less than those that are kept and checked, by this divisor. */
const DROPPED_COST = 4;
/** If an account has to wait for longer than this, a body that is not kept is not read either. */
const DROPPED_WAIT_MS_MAX = 250;
/** A rest of a body up to this size is always read, and lies in the socket in most cases. A longer one than the maximum never is. */
const DROPPED_BYTES_FREE = 65_536;
const DROPPED_BYTES_MAX = 100 * BYTES_PER_MB;
/** A connection that stays paused is cut after this time. Until then it takes a file descriptor. */
const PAUSED_MS = 10_000;
const PAUSED_MAX = 100;
const ACCOUNTS_MAX = 10_000;

/**
 * The rest of a refused body: it is read, so that the connection survives; or the connection is paused, so that it ends
 * after the client has the reply; or it is cut with the reply, which could then be lost.
 */
type Rest = "read" | "paused" | "cut";

/**
 * Bounds the bytes of long request bodies that are read in a second, of each account and of all. To receive and check a
 * body of 20 MB keeps the event loop for some 50 ms, and a client nearby can send dozens of them in a second.
 */
class BodyPace {
  private readonly clock: Pick<Clock, "monotonic">;
  /** By account: the time at which the bytes that were read are paid for, each ms paying for some. */
  private readonly paidAtMs = new LRUCache<string, number>({ max: ACCOUNTS_MAX });
  private allPaidAtMs = 0;
  /** When connections were paused in the last 10 s. */
  private readonly pausedAtMs: number[] = [];

  constructor(clock: Pick<Clock, "monotonic">) {
    this.clock = clock;
  }

  /** Counts bytes that were read. Returns for how many ms no more should be read for this account; 0 for none. */
  read(account: string, bytes: number): number {
    const nowMs = this.clock.monotonic();
    const paidAtMs = paidAt(this.paidAtMs.get(account), nowMs, bytes / BYTES_OF_ACCOUNT);
    this.paidAtMs.set(account, paidAtMs);
    this.allPaidAtMs = paidAt(this.allPaidAtMs, nowMs, bytes / BYTES_OF_ALL);
    return Math.max(0, paidAtMs - nowMs, this.allPaidAtMs - nowMs);
  }

  /** Like `read`, for bytes that are not kept. */
  readDropped(account: string, bytes: number): number {
    return this.read(account, bytes / DROPPED_COST);
  }

  /** Decides about the rest of a refused body, and counts it. */
  drop(account: string, bytes: number): Rest {
    if (bytes <= DROPPED_BYTES_FREE) return "read";
    if (bytes <= DROPPED_BYTES_MAX && this.read(account, 0) <= DROPPED_WAIT_MS_MAX) {
      this.readDropped(account, bytes);
      return "read";
    }
    const nowMs = this.clock.monotonic();
    while (this.pausedAtMs.length > 0 && (this.pausedAtMs[0] ?? 0) + PAUSED_MS <= nowMs)
      this.pausedAtMs.shift();
    // A client that comes again and again would take all file descriptors.
    if (this.pausedAtMs.length >= PAUSED_MAX) return "cut";
    this.pausedAtMs.push(nowMs);
    return "paused";
  }
}

function paidAt(before = 0, nowMs: number, costMs: number): number {
  return Math.min(Math.max(before, nowMs - BURST_MS) + costMs, nowMs + WAIT_MS_MAX);
}
