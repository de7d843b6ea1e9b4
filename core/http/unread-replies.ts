import type { UnreadReplyStatus } from "../plugin/services.ts";
import type { Log } from "../process/log.ts";
import { ThrottledLog } from "../process/throttled-log.ts";

/** A reply that takes memory until its client has read it. */
export interface KeptReply {
  /** The account of its call. */
  readonly accountId: string;
  /** Set by `UnreadReplies` alone. */
  keptBytes: number;
  /** Cuts the connection of its client. */
  cut(): void;
}

/** The replies of one account that wait for their clients, the one that has waited longest first. */
interface Waiting {
  bytes: number;
  readonly replies: Set<KeptReply>;
}

const FULL =
  "replies that their clients do not read take all of limits.unread_mb; cuts the one that has waited longest";

/**
 * Bounds the memory of all replies that are kept: those that wait for their clients, and whole ones that arrive. Beyond
 * it, the account whose clients leave most unread loses the reply that has waited longest since its client last read.
 */
export class UnreadReplies implements UnreadReplyStatus {
  private readonly log: ThrottledLog;
  /** Set here alone, as is `cut`. */
  bytes = 0;
  /** Of these, the bytes of replies that wait, and so can be cut. */
  private waitingBytes = 0;
  cut = 0;
  private readonly byAccount = new Map<string, Waiting>();

  constructor(
    public bytesMax: number,
    log: Log,
  ) {
    this.log = new ThrottledLog(log);
  }

  /** Counts a reply that arrives and is kept until it is whole. Returns false if there is no room, even after cuts. */
  gather(reply: KeptReply, bytes: number): boolean {
    const arriving = this.bytes - this.waitingBytes - reply.keptBytes + bytes;
    // Other replies that arrive take all: to cut those that wait would not make enough room.
    if (arriving > this.bytesMax) return false;
    this.set(reply, bytes);
    this.makeRoom();
    return true;
  }

  /** Counts a reply that waits for its client. May cut it, or others. Call it outside of a cork. */
  wait(reply: KeptReply, bytes: number): void {
    const waiting = this.byAccount.get(reply.accountId) ?? { bytes: 0, replies: new Set() };
    if (!waiting.replies.has(reply)) {
      waiting.replies.add(reply);
      waiting.bytes += reply.keptBytes;
      this.waitingBytes += reply.keptBytes;
      this.byAccount.set(reply.accountId, waiting);
    }
    this.set(reply, bytes, waiting);
    this.makeRoom();
  }

  /** The client has read a part, and the rest takes `bytes`. */
  read(reply: KeptReply, bytes: number): void {
    const waiting = this.byAccount.get(reply.accountId);
    if (!waiting?.replies.delete(reply)) return;
    waiting.replies.add(reply);
    this.set(reply, bytes, waiting);
  }

  /** Gives back what a reply took. */
  release(reply: KeptReply): void {
    if (reply.keptBytes === 0) return;
    const { accountId } = reply;
    const waiting = this.byAccount.get(accountId);
    const isWaiting = waiting?.replies.delete(reply) === true;
    this.set(reply, 0, isWaiting ? waiting : undefined);
    if (waiting?.replies.size === 0) this.byAccount.delete(accountId);
  }

  private set(reply: KeptReply, bytes: number, waiting?: Waiting): void {
    const change = bytes - reply.keptBytes;
    reply.keptBytes = bytes;
    this.bytes += change;
    if (!waiting) return;
    waiting.bytes += change;
    this.waitingBytes += change;
  }

  private makeRoom(): void {
    while (this.bytes > this.bytesMax) {
      const reply = this.longestOfMost();
      if (!reply) return;
      this.cut++;
      this.log.warn({ account_id: reply.accountId }, FULL);
      this.release(reply);
      reply.cut();
    }
  }

  private longestOfMost(): KeptReply | undefined {
    let most: Waiting | undefined;
    for (const waiting of this.byAccount.values()) {
      if (most === undefined || waiting.bytes > most.bytes) most = waiting;
    }
    return most?.replies.values().next().value;
  }
}
