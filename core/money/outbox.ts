import type { MicroVnd } from "../catalogue/amount.ts";
import type { Posted } from "./hold-store.ts";
import type { StoredEntry } from "./outbox-entry.ts";
import { callOf, costOf } from "./unreadable.ts";

const GENERATION_SIZE = 8_192;
/** `posted` is made again after so many commits, and more if it is larger. */
const REMADE_MIN = 64;

/** The epoch of a post's first attempt, and the id that this process had in Redis. */
export interface Sent {
  readonly epoch: string;
  readonly process: string;
}

/** A post that the hold store does not have, as far as this process knows. */
export interface UnsentPost {
  /** With its full cost as its charge. */
  readonly entry: StoredEntry;
  /** Undefined if an earlier process sent the post, or it was sent in an epoch of before. */
  readonly sent?: Sent | undefined;
  /**
   * `kept`: it is sent again until the hold store has it. `writing`: it is on its way to the disk. `left`: the disk did not
   * take it, so its caller posts the call again, or voids it. `voided`: the hold store gives it back, if it has it.
   */
  state: "kept" | "writing" | "left" | "voided";
  /** The result of a post that is on its way to the disk. */
  written?: Promise<Posted>;
  /** Takes it off the disk, if it is there. */
  drop?: () => void;
}

/**
 * Posts on their way to the ledger, by call id, oldest first: `unsent`, `posted` or `committed`. A post without a reply,
 * in the spool, of a Redis that was wiped: each is an unsent one.
 */
export class Outbox {
  readonly unsent = new Map<string, UnsentPost>();
  /** Charged in the hold store, and not known to be in the ledger. */
  posted = new Map<string, StoredEntry>();
  /** Committed since `posted` was made. */
  private leftPosted = 0;
  /** In the ledger, and not taken out of uncommitted in the hold store yet. */
  committed: StoredEntry[] = [];
  /** Results of the latest committed calls, in two generations: when the younger is full, the older is dropped whole. */
  private young = new Map<string, Posted>();
  private old = new Map<string, Posted>();

  /** Returns the result of a second post of a call; undefined if it was not posted, as far as this process remembers. */
  result(callId: string): Posted | undefined {
    const posted = this.posted.get(callId);
    if (posted) return resultOf(posted);
    const unsent = this.unsent.get(callId);
    if (unsent?.state === "kept") return charged(costOf(unsent.entry), 0);
    // It is final: nothing is charged.
    if (unsent?.state === "voided") return charged(0, 0);
    return this.young.get(callId) ?? this.old.get(callId);
  }

  /** Adds a post to send again. Of two posts of a call the second goes off the disk. */
  keep(post: Omit<UnsentPost, "state">): void {
    const { callId } = callOf(post.entry);
    if (this.unsent.has(callId)) return post.drop?.();
    this.unsent.set(callId, { ...post, state: "kept" });
  }

  /** The hold store has charged a call. */
  post(entry: StoredEntry): void {
    const { callId } = callOf(entry);
    this.unsent.delete(callId);
    this.posted.set(callId, entry);
  }

  /** The ledger has an entry. Returns it as it was posted; undefined if another process posted it, or it was posted again. */
  commit(entry: StoredEntry): StoredEntry | undefined {
    const { callId } = callOf(entry);
    const posted = this.posted.get(callId);
    if (posted?.entryId !== entry.entryId) return undefined;
    this.posted.delete(callId);
    // The tables that a Map outgrows point at each other and at the entries they had. Through them, each entry would stay
    // in memory until the next full collection.
    if (++this.leftPosted >= this.posted.size + REMADE_MIN) {
      this.posted = new Map(this.posted);
      this.leftPosted = 0;
    }
    if (this.young.size >= GENERATION_SIZE) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(callId, resultOf(posted));
    return posted;
  }

  /** Returns the oldest post that is sent again. */
  oldestKept(): UnsentPost | undefined {
    for (const post of this.unsent.values()) if (post.state === "kept") return post;
    return undefined;
  }

  /** Returns up to `max` of the oldest posted entries. */
  oldest(max: number): StoredEntry[] {
    const entries: StoredEntry[] = [];
    if (max <= 0) return entries;
    for (const entry of this.posted.values()) {
      entries.push(entry);
      if (entries.length >= max) break;
    }
    return entries;
  }
}

function resultOf(entry: StoredEntry): Posted {
  return charged(entry.chargedMicroVnd, entry.posting ? entry.writtenOffMicroVnd : 0);
}

function charged(chargedMicroVnd: MicroVnd, writtenOffMicroVnd: MicroVnd): Posted {
  return { chargedMicroVnd, writtenOffMicroVnd, duplicate: true };
}
