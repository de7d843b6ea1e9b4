import type { OutboxEntry } from "../contract/hold-store.ts";

const COMPACT_FROM = 4_096;

/**
 * Entries in order of their positions, which rise by one: a position is an index, so that adding and
 * taking one costs no search. Taken entries leave a hole until everything before them is taken too.
 */
export class Outbox {
  private entries: (OutboxEntry | undefined)[] = [];
  private head = 0;
  /** Position of the entry at `head`. */
  private headPosition: number;
  private count = 0;

  constructor(firstPosition: number) {
    this.headPosition = firstPosition;
  }

  /** Entries not yet taken. */
  get size(): number {
    return this.count;
  }

  /** Everything up to and including this position is taken. */
  get takenThrough(): number {
    return this.headPosition - 1;
  }

  /** Adds an entry at a position above all others. */
  add(entry: OutboxEntry, position: number): void {
    // A segment that the operator has set aside leaves a gap in what was recovered.
    while (this.headPosition + this.entries.length - this.head < position) {
      this.entries.push(undefined);
    }
    this.entries.push(entry);
    this.count += 1;
  }

  /** The oldest entries, `max` at most; they stay. */
  peek(max: number): OutboxEntry[] {
    const found: OutboxEntry[] = [];
    for (let index = this.head; index < this.entries.length && found.length < max; index += 1) {
      const entry = this.entries[index];
      if (entry !== undefined) found.push(entry);
    }
    return found;
  }

  /** The entry of a call; undefined if it is not there. */
  find(callId: string): OutboxEntry | undefined {
    return this.entries.find((entry) => entry?.posting.callId === callId);
  }

  /** Removes and answers the entry at this position; undefined where it is not there (any more). */
  take(position: number): OutboxEntry | undefined {
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
    // Copying only when half is holes keeps the cost per entry constant.
    if (this.head >= COMPACT_FROM && this.head * 2 >= this.entries.length) {
      this.entries = this.entries.slice(this.head);
      this.head = 0;
    }
  }
}
