import { type Machine, sleep } from "../process/machine.ts";
import { withTimeout } from "../process/timeout.ts";
import type { HoldStore, Posting } from "./hold-store.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { unsentPost } from "./standing.ts";
import type { StandingCall } from "./standing-call.ts";
import { callOf, costOf } from "./unreadable.ts";

/**
 * Retries posts that the hold store could not keep, for example because the disk is full, so that every served call is
 * charged. Keeps them in memory only: a kill of this process loses them. At a stop the ledger may still get them.
 */
export class LatePosts {
  private readonly holdStore: HoldStore;
  private readonly machine: Machine;
  private readonly waiting = new Map<string, Posting>();
  private readonly trying = new Set<string>();
  private isRunning = false;
  private isEnding = false;
  private isWriting = false;

  constructor(holdStore: HoldStore, machine: Machine) {
    this.holdStore = holdStore;
    this.machine = machine;
  }

  /** Number of posts that are in memory only. */
  get size(): number {
    return this.waiting.size;
  }

  /** Returns all posts that are in memory only. */
  unsent(): StandingCall[] {
    return Array.from(this.waiting.values(), (posting) =>
      unsentPost(posting, posting.costMicroVnd, ""),
    );
  }

  add(posting: Posting): void {
    this.waiting.set(posting.callId, posting);
    if (!this.isRunning) void this.run();
    if (this.isEnding) void this.tryAll();
  }

  /**
   * Posts all once more; from now on the hold store keeps them in memory if the disk refuses them. Resolves once none is
   * only in memory, and after `limitMs` anyway. Never rejects.
   */
  async end(limitMs: number): Promise<void> {
    const { machine } = this;
    this.isEnding = true;
    const deadlineMs = machine.monotonic() + limitMs;
    await withTimeout(this.tryAll(), limitMs, machine);
    if (!this.isWriting) void this.writeLeft();
    while (this.left().length > 0 && machine.monotonic() < deadlineMs) {
      await sleep(machine, LIFETIMES.lastPostsPollMs);
    }
  }

  /** After `end`: returns the posts that neither the ledger, Redis nor the disk has, once it has tried the disk again. */
  left(): StandingCall[] {
    const entries = this.holdStore.lastPosts([]);
    return [
      ...this.unsent(),
      ...entries.map((entry) => unsentPost(callOf(entry), costOf(entry), "")),
    ];
  }

  /** Writes the posts that only memory has as soon as the disk has room: the rest of the stop may wait for the ledger. */
  private async writeLeft(): Promise<void> {
    this.isWriting = true;
    while (this.left().length > 0) {
      await sleep(this.machine, LIFETIMES.applyRetryMs, { unref: true });
    }
    this.isWriting = false;
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.waiting.size > 0) {
      await sleep(this.machine, LIFETIMES.applyRetryMs, { unref: true });
      await this.tryAll();
    }
    this.isRunning = false;
  }

  /**
   * Posts one after another, up to the first failure. That post goes to the end, so that one which can never be kept
   * does not delay the others for long. At the end a failure stops none. Never rejects.
   */
  private async tryAll(): Promise<void> {
    if (this.isEnding) this.holdStore.lastPosts(this.waiting.keys());
    for (const [callId, posting] of [...this.waiting]) {
      if (!this.waiting.has(callId) || this.trying.has(callId)) continue;
      this.trying.add(callId);
      const isKept = await this.isKept(posting);
      this.trying.delete(callId);
      this.waiting.delete(callId);
      if (isKept) continue;
      this.waiting.set(callId, posting);
      if (!this.isEnding) return;
    }
  }

  private async isKept(posting: Posting): Promise<boolean> {
    try {
      await this.holdStore.post(posting);
      return true;
    } catch {
      return false;
    }
  }
}
