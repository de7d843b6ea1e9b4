import type { Posted } from "../contract/hold-store.ts";

const GENERATION_SIZE = 8_192;

/**
 * What became of the calls posted last, so that a second post of one changes nothing. Two generations:
 * the older is forgotten whole when the younger is full, but never while an entry of it is on its way to
 * the ledger. Constant work per call, at least 8,192 calls remembered, at most about twice as many
 * beside those still on their way.
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

  /** Remembers a call posted at this position of the outbox, of which all before `committedThrough` are done. */
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
