import type { Posted } from "./hold-store.ts";

const GENERATION_SIZE = 8_192;

/**
 * The results of the latest posts, so that a second post of a call changes nothing. Has two generations: when the
 * younger is full, the older is dropped whole, but never while it has an uncommitted call. So the work per call is
 * constant, and it remembers at least 8,192 calls, at most about twice as many plus the uncommitted ones.
 */
export class RecentCalls {
  private young = new Map<string, Posted>();
  private old = new Map<string, Posted>();
  private oldThrough = 0;
  private youngThrough = 0;
  private readonly generationSize: number;

  constructor(generationSize: number = GENERATION_SIZE) {
    this.generationSize = generationSize;
  }

  get(callId: string): Posted | undefined {
    return this.young.get(callId) ?? this.old.get(callId);
  }

  /** Remembers a call. `position`: its position in the outbox; all up to `committedThrough` are committed. */
  add(callId: string, posted: Posted, position: number, committedThrough: number): void {
    if (this.young.size >= this.generationSize && this.oldThrough <= committedThrough) {
      this.old = this.young;
      this.oldThrough = this.youngThrough;
      this.young = new Map();
    }
    this.young.set(callId, posted);
    this.youngThrough = position;
  }
}
