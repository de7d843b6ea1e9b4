import type { Journal } from "./journal.ts";

/**
 * The journal of a process that ends. Records of its last calls that the disk refuses are kept in memory, so that they
 * may reach the ledger or Redis before the end.
 */
export class EndingJournal {
  private readonly journal: Journal;
  private readonly last = new Set<string>();
  /** The records that only memory has, in the order of their positions. */
  private inMemory: string[] = [];

  constructor(journal: Journal) {
    this.journal = journal;
  }

  /** Says that records of these calls may be kept in memory, and writes those that are if the disk has room by now. */
  end(callIds: Iterable<string>): void {
    for (const callId of callIds) this.last.add(callId);
    if (this.inMemory.length === 0) return;
    try {
      // They get the positions that they have: nothing else was written since.
      this.journal.appendAll(this.inMemory);
      this.inMemory = [];
    } catch {} // They stay in memory.
  }

  /** Position of the first record that only memory has; above all positions if there is none. */
  get endOfDisk(): number {
    return this.journal.position;
  }

  /** See `Journal.appendAll`. `callIds`: the calls of the records. Throws nothing if all may be kept in memory. */
  appendAll(payloads: readonly string[], callIds: readonly string[]): number {
    try {
      // Positions rise by one, so after a record in memory none can go to the disk.
      if (this.inMemory.length > 0)
        throw new Error("the process ends, and its disk refused records");
      return this.journal.appendAll(payloads);
    } catch (error) {
      if (!callIds.every((callId) => this.last.has(callId))) throw error;
      const position = this.endOfDisk + this.inMemory.length;
      this.inMemory.push(...payloads);
      return position;
    }
  }
}
