import type { OutboxEntry, StoredEntry } from "./outbox-entry.ts";

const COMPACT_FROM = 4_096;

/**
 * Entries in the order of their positions, which rise by one. A position is an index, so `add` and `take` need no
 * search. A taken entry leaves a gap until all entries before it are taken.
 */
export class Outbox {
  private entries: (StoredEntry | undefined)[] = [];
  private head = 0;
  /** Position of the entry at `head`. */
  private headPosition: number;
  private count = 0;

  constructor(firstPosition: number) {
    this.headPosition = firstPosition;
  }

  /** Number of entries that the committer has not taken yet. */
  get size(): number {
    return this.count;
  }

  /** Position up to which all entries are taken, itself included. */
  get takenThrough(): number {
    return this.headPosition - 1;
  }

  /** Adds an entry at a position above all others. */
  add(entry: StoredEntry, position: number): void {
    // A journal segment that the operator set aside leaves a gap in the positions.
    while (this.headPosition + this.entries.length - this.head < position) {
      this.entries.push(undefined);
    }
    this.entries.push(entry);
    this.count += 1;
  }

  /** Returns up to `max` of the oldest entries, without taking them. */
  peek(max: number): StoredEntry[] {
    const found: StoredEntry[] = [];
    for (let index = this.head; index < this.entries.length && found.length < max; index += 1) {
      const entry = this.entries[index];
      if (entry !== undefined) found.push(entry);
    }
    return found;
  }

  /** Returns the entry of a call; undefined if there is none, or it cannot be read. */
  find(callId: string): OutboxEntry | undefined {
    for (const entry of this.entries) {
      if (entry?.posting !== undefined && entry.posting.callId === callId) return entry;
    }
    return undefined;
  }

  /** Removes the entry at this position, and returns it; undefined if it was taken before. */
  take(position: number): StoredEntry | undefined {
    const index = this.head + position - this.headPosition;
    if (index < this.head) return undefined;
    const entry = this.entries[index];
    if (entry === undefined) return undefined;
    this.entries[index] = undefined;
    this.count -= 1;
    this.advance();
    return entry;
  }

  private advance(): void {
    while (this.head < this.entries.length && this.entries[this.head] === undefined) {
      this.head += 1;
      this.headPosition += 1;
    }
    // Copy only if half of the array is gaps: that keeps the cost per entry constant.
    if (this.head >= COMPACT_FROM && this.head * 2 >= this.entries.length) {
      this.entries = this.entries.slice(this.head);
      this.head = 0;
    }
  }
}
