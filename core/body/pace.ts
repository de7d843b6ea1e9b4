import { LRUCache } from "lru-cache";
import type { Clock } from "../process/clock.ts";

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
export type Rest = "read" | "paused" | "cut";

/**
 * Bounds the bytes of long request bodies that are read in a second, of each account and of all. To receive and check a
 * body of 20 MB keeps the event loop for some 50 ms, and a client nearby can send dozens of them in a second.
 */
export class BodyPace {
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
