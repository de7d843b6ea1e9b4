import type { Journal } from "./journal.ts";

/**
 * The journal of a process that ends. Records of its last calls that the disk refuses are kept in memory, so that they
 * may reach the ledger or Redis before the end.
 */
export class EndingJournal {
  private readonly journal: Journal;
  private readonly last = new Set<string>();
  private inMemory = 0;

  constructor(journal: Journal) {
    this.journal = journal;
  }

  /** Says that records of these calls may be kept in memory. */
  end(callIds: Iterable<string>): void {
    for (const callId of callIds) this.last.add(callId);
  }

  /** Position of the first record that only memory has; above all positions if there is none. */
  get endOfDisk(): number {
    return this.journal.position;
  }

  /** See `Journal.appendAll`. `callIds`: the calls of the records. Throws nothing if all may be kept in memory. */
  appendAll(payloads: readonly string[], callIds: readonly string[]): number {
    try {
      // Positions rise by one, so after a record in memory none can go to the disk.
      if (this.inMemory > 0) throw new Error("the process ends, and its disk refused records");
      return this.journal.appendAll(payloads);
    } catch (error) {
      if (!callIds.every((callId) => this.last.has(callId))) throw error;
      this.inMemory += payloads.length;
      return this.endOfDisk + this.inMemory - payloads.length;
    }
  }
}
