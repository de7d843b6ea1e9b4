import { LRUCache } from "lru-cache";
import type { HttpResponse } from "../listener/index.ts";
import type { Clock } from "../process/clock.ts";
import { isRefusal, type Refusal, refuse } from "../wire/refusal.ts";

export function bodyTooLarge(bytesMax: number): Refusal {
  if (bytesMax === 0) return refuse.tooLarge("This address takes no body.");
  const [size, unit] = bytesMax < BYTES_PER_MB ? [1_024, "KB"] : [BYTES_PER_MB, "MB"];
  return refuse.tooLarge(
    `The request body is larger than the limit of ${bytesMax / size} ${unit}.`,
  );
}

/** Returns the length that a request declares; undefined if it declares none. */
export function declaredLength(headers: Readonly<Record<string, string>>): number | undefined {
  const text = headers["content-length"];
  return text === undefined ? undefined : Number(text);
}

/** Returns true if the body is chunked: its length is known only at its end. */
export function isChunked(headers: Readonly<Record<string, string>>): boolean {
  return headers["transfer-encoding"] !== undefined;
}

/**
 * Returns the 400 for a request that a proxy in front may read differently; it could then take part of this body for
 * another client's request. Of two lengths, uWebSockets.js takes the first; a body with an unknown encoding it takes for
 * no body, and trailers for the next request.
 */
export function ambiguity(headers: Readonly<Record<string, string>>): Refusal | undefined {
  const encoding = headers["transfer-encoding"];
  const isKnown = encoding === undefined || encoding.trim().toLowerCase() === "chunked";
  if (!isKnown || headers["content-length"]?.includes(",")) return AMBIGUOUS.end;
  if (headers["trailer"] !== undefined) return AMBIGUOUS.trailers;
  return headers["host"]?.includes(",") ? AMBIGUOUS.host : undefined;
}

const AMBIGUOUS = {
  end: refuse.badRequest(
    "The end of the body is ambiguous: send one content-length, or transfer-encoding: chunked.",
  ),
  trailers: refuse.badRequest("Trailers are not read: end the body with its last chunk."),
  host: refuse.badRequest("The header host is sent twice."),
};

/** Returns the 415 for a body that is compressed. */
export function compression(headers: Readonly<Record<string, string>>): Refusal | undefined {
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  return encoding === "identity" ? undefined : COMPRESSED;
}

const COMPRESSED = refuse.as(
  415,
  "invalid_request_error",
  "Compressed bodies are not read: send the body without content-encoding. Codex that is signed in with ChatGPT " +
    "compresses for a provider named OpenAI: give it another name, or set enable_request_compression = false under " +
    "[features] in its config.toml.",
);

/**
 * This much of a body is read before its call is admitted: what the socket delivers at once. The rest of a stranger's
 * upload waits until the gateway knows whose memory budget it takes.
 */
const UNADMITTED_BYTES_MAX = 65_536;

/** Time between two renewals of the timeout of a body that arrives slowly: well below the 8 s that it has at least. */
const RENEWAL_MS = 2_000;

interface Expected {
  readonly bytesMax: number;
  /** As declared; undefined for a chunked body. */
  readonly length?: number | undefined;
  /** The part of the budgets that the body takes. Default: none. */
  readonly share?: Share;
  onWhole(body: Buffer): void;
  /** The body exceeds `bytesMax`, or the budget has no room for it. Nothing more is kept. */
  onRefused(refusal: Refusal): void;
}

/**
 * A request body that is being read. Bytes beyond its limit are not kept.
 *
 * A class, not an object literal with a getter: V8 gives each such literal a hidden class of its own, in old memory,
 * which keeps the whole call alive until the next full collection.
 */
export class Reading {
  /** The reply must close the connection: the rest of the body is not read. */
  mustCut = false;
  /** The connection stays paused until it is cut: the rest of the body is not read either. */
  staysPaused = false;
  /** Parts that have arrived, until there is memory for the whole. */
  private chunks: Buffer[] | undefined = undefined;
  /** Memory for all of a body that declares its length. What has not arrived takes none. */
  private whole: Buffer | undefined = undefined;
  /** Bytes that have arrived. Set here alone. */
  bytes = 0;
  private kept = true;
  /** True if there is nothing left to read: the body has ended, or passed the limit. Set here alone. */
  isOver = false;
  private isAdmitted: boolean;
  private isPaused = false;
  private renewedMs: number;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(
    private readonly res: HttpResponse,
    private readonly expected: Expected,
  ) {
    this.isAdmitted = expected.share === undefined;
    this.renewedMs = expected.share?.nowMs ?? 0;
  }

  /** Reads the rest of the body: its call is admitted. */
  admit(): void {
    this.isAdmitted = true;
    this.resume();
  }

  /**
   * Drops what was read and keeps nothing more, before the reply leaves: uWebSockets.js reads on after a reply, without a
   * limit. Still reports the end if it is read. A connection that stays paused is cut by its idle timeout of 10 s.
   */
  discard(): void {
    if (!this.kept) return;
    this.drop();
    const { length, share } = this.expected;
    share?.release();
    if (this.isOver) return;
    const rest = length === undefined ? "read" : share?.drop(length - this.bytes);
    if (rest !== "paused" && rest !== "cut") return this.admit();
    this.mustCut = rest === "cut";
    this.staysPaused = rest === "paused";
    clearTimeout(this.timer);
    this.pause();
  }

  /** Leaves the connection alone: the reply has ended, or the client has left. */
  stop(): void {
    this.isOver = true;
    clearTimeout(this.timer);
    this.expected.share?.release();
  }

  add(lent: ArrayBuffer, isLast: boolean): void {
    if (this.isOver) return;
    const { bytesMax, length, share, onRefused, onWhole } = this.expected;
    this.bytes += lent.byteLength;
    // The declared rest of a refused body was counted when it was refused, and is read to its end.
    const isRest = !this.kept && length !== undefined;
    if (this.bytes > bytesMax && !isRest) {
      if (!isLast) this.pause();
      this.drop();
      this.stop();
      return onRefused(bodyTooLarge(bytesMax));
    }
    this.isOver = isLast;
    // A socket may deliver the end after it was paused. It is read on for the next request.
    if (isLast) this.resume();
    const waitMs = isRest ? 0 : (share?.read(lent.byteLength, this.kept) ?? 0);
    const noRoom = this.kept ? share?.add(lent.byteLength) : undefined;
    if (noRoom) {
      this.discard();
      onRefused(noRoom);
    }
    if (!isLast) {
      if (this.kept) this.keep(lent);
      this.wait(waitMs);
      this.renewTimeout();
    } else onWhole(this.kept ? this.wholeWith(lent) : NOTHING);
  }

  private drop(): void {
    this.kept = false;
    this.chunks = undefined;
    this.whole = undefined;
  }

  /** Copies a part: its memory is lent for the time of the call. */
  private keep(lent: ArrayBuffer): void {
    const part = Buffer.from(lent);
    const { length } = this.expected;
    if (this.whole) part.copy(this.whole, this.bytes - part.length);
    else if (length !== undefined && this.isAdmitted) {
      this.whole = Buffer.allocUnsafeSlow(length);
      let at = 0;
      for (const chunk of [...(this.chunks ?? []), part]) at += chunk.copy(this.whole, at);
      this.chunks = undefined;
    } else if (this.chunks) this.chunks.push(Buffer.from(part));
    else this.chunks = [Buffer.from(part)];
  }

  private wholeWith(last: ArrayBuffer): Buffer {
    if (!this.chunks && !this.whole) return Buffer.from(Buffer.from(last));
    this.keep(last);
    return this.whole ?? Buffer.concat(this.chunks ?? [], this.bytes);
  }

  /** Reads no more until the call is admitted, or for a time. */
  private wait(ms: number): void {
    if (this.isOver) return;
    if (!this.isAdmitted) {
      if (this.bytes >= UNADMITTED_BYTES_MAX) this.pause();
      return;
    }
    // The reply to a refused body does not wait for the rest, unless it is chunked.
    if (ms === 0 || (!this.kept && this.expected.length !== undefined)) return;
    this.pause();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.resume(), ms);
  }

  /**
   * uWebSockets.js gives a body another 10 s after each 160 KB of it alone, or when its connection is read on. A client on
   * a slow line may send less, as long as it sends.
   */
  private renewTimeout(): void {
    const nowMs = this.expected.share?.nowMs ?? 0;
    if (this.isPaused || nowMs - this.renewedMs < RENEWAL_MS) return;
    this.renewedMs = nowMs;
    this.pause();
    this.resume();
  }

  private pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.res.pause();
  }

  private resume(): void {
    clearTimeout(this.timer);
    if (!this.isPaused) return;
    this.isPaused = false;
    this.res.resume();
  }
}

/**
 * Receives a request body and passes it to `onWhole`. Once it exceeds the limit, calls `onRefused`
 * instead and stops reading.
 */
export function receiveBody(res: HttpResponse, expected: Expected): Reading {
  const reading = new Reading(res, expected);
  res.onData((lent, isLast) => reading.add(lent, isLast));
  return reading;
}

const NOTHING = Buffer.alloc(0);

/** This much of each body does not count, so that short requests are served while long ones take all of the budget. */
const FREE_BYTES = 16 * 1024;
/** The part of the budget that one account may use, as a divisor: a quarter of the bytes, and of the calls. */
const SHARE_OF_ACCOUNT = 4;
/** The part of the budget for requests that hold no money, as a divisor. Of it, an account may have one body at a time. */
const SHARE_OF_FREE = 8;
/** This much of each body is read without a wait, and not counted. */
const PROMPT_BYTES = 512 * 1024;
/** Requests without a valid key share one pace. */
const STRANGERS = "";

interface BudgetLimits {
  /** Maximum bytes of all bodies in memory. */
  readonly bodiesBytesMax: number;
  /** Maximum bytes of one body: an account can always send one. */
  readonly bodyBytesMax: number;
  /** Maximum number of bodies that are arriving. */
  readonly callsMax: number;
}

/** The use of one account by its bodies: by those that hold money, or by those that hold none. */
interface Use {
  readonly name: string;
  readonly isFree: boolean;
  bytes: number;
  /** Bodies that arrive. */
  arriving: number;
  /** Bodies whose bytes count. */
  bodies: number;
}

/** Whose request a body belongs to, once that is known. */
interface Sender {
  readonly key?: { readonly accountId: string } | undefined;
}

/**
 * Bounds the memory of request bodies, over all callers and for each account, and how fast they are read. Without it, 150
 * connections that send 20 MB each and then wait fill any machine, and so do as many calls whose provider takes a minute.
 */
export class BodyBudget {
  /** @internal */
  readonly pace: BodyPace;
  private bytes = 0;
  private freeBytes = 0;
  private readonly byAccount = new Map<string, Use>();

  constructor(
    public limits: BudgetLimits,
    private readonly clock: Pick<Clock, "monotonic">,
  ) {
    this.pace = new BodyPace(clock);
  }

  get nowMs(): number {
    return this.clock.monotonic();
  }

  /** Begins a body. End it with `release`. */
  open(sender: Sender = {}): Share {
    return new Share(this, sender);
  }

  private hasRoom(use: Use, bytes: number): Refusal | undefined {
    const { bodyBytesMax, bodiesBytesMax } = this.limits;
    // An account may have its share, and always one whole body.
    const share = use.isFree ? 0 : bodiesBytesMax / SHARE_OF_ACCOUNT;
    if (use.bytes + bytes > Math.max(bodyBytesMax, share)) return TOO_MUCH_OF_ACCOUNT;
    const freeMax = Math.max(bodyBytesMax, bodiesBytesMax / SHARE_OF_FREE);
    return use.isFree && this.freeBytes + bytes > freeMax ? FULL : undefined;
  }

  private count(use: Use, bytes: number): void {
    use.bytes += bytes;
    if (use.isFree) this.freeBytes += bytes;
  }

  /** @internal Counts bytes for all, and for an account those that it has not announced. */
  take(bytes: number, use: Use | undefined, unannounced: number): Refusal | undefined {
    if (this.bytes + bytes > this.limits.bodiesBytesMax) return FULL;
    const refusal = use && this.hasRoom(use, unannounced);
    if (refusal) return refusal;
    this.bytes += bytes;
    if (use) this.count(use, unannounced);
    return undefined;
  }

  /** @internal */
  join(bytes: number, account: string, isFree: boolean): Use | Refusal {
    const name = isFree ? `free ${account}` : account;
    const use = this.byAccount.get(name) ?? { name, isFree, bytes: 0, arriving: 0, bodies: 0 };
    const arrivingMax = Math.max(1, this.limits.callsMax / SHARE_OF_ACCOUNT);
    const refusal = use.arriving >= arrivingMax ? TOO_MUCH_OF_ACCOUNT : this.hasRoom(use, bytes);
    if (refusal) return refusal;
    this.count(use, bytes);
    use.arriving++;
    use.bodies++;
    this.byAccount.set(name, use);
    return use;
  }

  /** @internal */
  leave(bytes: number, use: Use | undefined, bytesOfAccount: number): void {
    this.bytes -= bytes;
    if (!use) return;
    this.count(use, -bytesOfAccount);
    use.bodies--;
    if (use.bodies === 0) this.byAccount.delete(use.name);
  }
}

/** The part of the budget that one body takes. */
export class Share {
  private bytesRead = 0;
  private bytes = 0;
  private counted = 0;
  /** That of its account, once that is known. */
  private use: Use | undefined = undefined;
  private countedOfAccount = 0;
  /** True once the body is whole and a call has it. */
  private isHanded = false;
  private released = false;

  constructor(
    private readonly budget: BodyBudget,
    private readonly sender: Sender,
  ) {}

  get nowMs(): number {
    return this.budget.nowMs;
  }

  /** Counts bytes that were read. Returns for how many ms to read no more of this body; 0 for none. */
  read(bytes: number, isKept = true): number {
    this.bytesRead += bytes;
    const slow = Math.min(bytes, this.bytesRead - PROMPT_BYTES);
    if (slow <= 0) return 0;
    return this.budget.pace.read(this.account, isKept ? slow : slow / DROPPED_COST);
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
    const unannounced = Math.max(0, this.counted + counted - this.countedOfAccount);
    const refusal = this.budget.take(counted, this.use, unannounced);
    if (refusal) return refusal;
    this.counted += counted;
    if (this.use) this.countedOfAccount += unannounced;
    return undefined;
  }

  /**
   * Counts this body for an account, with all bytes that it announces: those that the account's share cannot take are
   * refused before they arrive. Returns the refusal if the account must not send it now. `isFree`: the request holds no
   * money, so that a stranger can send it as often as one likes.
   */
  ofAccount(account: string, bytesAnnounced = 0, isFree = false): Refusal | undefined {
    if (this.released) return undefined;
    const bytes = Math.max(this.counted, bytesAnnounced - FREE_BYTES);
    const use = this.budget.join(bytes, account, isFree);
    if (isRefusal(use)) return use;
    this.use = use;
    this.countedOfAccount = bytes;
    return undefined;
  }

  /** True if this body is so long that it takes a part. */
  get isCounted(): boolean {
    return this.counted > 0;
  }

  /** The whole body goes to its call, and counts until `letGo`. */
  hand(): void {
    if (this.released || this.isHanded) return;
    this.isHanded = true;
    if (this.use) this.use.arriving--;
  }

  /** Gives back what this body took, unless a call has it: it was refused or cut off. */
  release(): void {
    if (!this.isHanded) this.letGo();
  }

  /** Gives back what this body took: its call has dropped it. */
  letGo(): void {
    this.hand();
    if (this.released) return;
    this.released = true;
    this.budget.leave(this.counted, this.use, this.countedOfAccount);
  }
}

const FULL = refuse.unavailable(
  "The gateway has as many long requests as it can take; try again shortly.",
);
const TOO_MUCH_OF_ACCOUNT = refuse.rateLimited(
  "Too many long requests of this account are served at once; wait until some have ended.",
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
  /** By account: the time at which the bytes that were read are paid for, each ms paying for some. */
  private readonly paidAtMs = new LRUCache<string, number>({ max: ACCOUNTS_MAX });
  private allPaidAtMs = 0;
  /** When connections were paused in the last 10 s. */
  private readonly pausedAtMs: number[] = [];

  constructor(private readonly clock: Pick<Clock, "monotonic">) {}

  /** Counts bytes that were read. Returns for how many ms no more should be read for this account; 0 for none. */
  read(account: string, bytes: number): number {
    const nowMs = this.clock.monotonic();
    const paidAtMs = paidAt(this.paidAtMs.get(account), nowMs, bytes / BYTES_OF_ACCOUNT);
    this.paidAtMs.set(account, paidAtMs);
    this.allPaidAtMs = paidAt(this.allPaidAtMs, nowMs, bytes / BYTES_OF_ALL);
    return Math.max(0, paidAtMs - nowMs, this.allPaidAtMs - nowMs);
  }

  drop(account: string, bytes: number): Rest {
    if (bytes <= DROPPED_BYTES_FREE) return "read";
    if (bytes <= DROPPED_BYTES_MAX && this.read(account, 0) <= DROPPED_WAIT_MS_MAX) {
      this.read(account, bytes / DROPPED_COST);
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
