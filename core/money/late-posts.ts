import { type Machine, sleep } from "../process/machine.ts";
import type { HoldStore } from "./hold-store.ts";
import { LIFETIMES } from "./lifetimes.ts";
import type { Posting } from "./outbox-entry.ts";
import { type StandingCall, unsentPost } from "./standing.ts";

/**
 * Retries posts that the hold store could not keep, for example because the disk is full, so that every served call is
 * charged. Keeps them in memory only: the end of this process loses them.
 */
export class LatePosts {
  private readonly waiting = new Map<string, Posting>();
  private readonly trying = new Set<string>();
  private isRunning = false;

  constructor(
    private readonly holdStore: HoldStore,
    private readonly machine: Machine,
  ) {}

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
  }

  /**
   * Posts one after another, up to the first failure. That post goes to the end, so that one which can never be kept
   * does not delay the others for long. Never rejects.
   */
  async tryAll(): Promise<void> {
    for (const [callId, posting] of [...this.waiting]) {
      if (!this.waiting.has(callId) || this.trying.has(callId)) continue;
      this.trying.add(callId);
      const isKept = await this.isKept(posting);
      this.trying.delete(callId);
      this.waiting.delete(callId);
      if (isKept) continue;
      this.waiting.set(callId, posting);
      return;
    }
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.waiting.size > 0) {
      await sleep(this.machine, LIFETIMES.applyRetryMs, { unref: true });
      await this.tryAll();
    }
    this.isRunning = false;
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
