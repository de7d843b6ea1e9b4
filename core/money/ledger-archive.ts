/**
 * Takes the records of old calls out of the ledger: close, export, add up, detach, drop, each a step that can be
 * repeated. A month is `2026-03` (UTC). Every charge stays in the ledger, so all balances are proven as before.
 */
export interface LedgerArchive {
  /** Returns all months, oldest first. The rows of open months are estimated. */
  months(): Promise<LedgerMonth[]>;

  /**
   * Closes a month: its records never change again, and calls of it that come later go to quarantine.
   */
  close(month: string): Promise<"closed" | "no_month">;

  /** Opens a closed month again. Returns false if it is not closed. */
  reopen(month: string): Promise<boolean>;

  /** Returns the tables of a month that is closed, detached or dropped. */
  tables(month: string): Promise<ArchivedTable[]>;

  /** Returns the next rows of a table, each as JSON. `after`: the last of the page before. */
  lines(table: string, after: string | null, limit: number): Promise<string[]>;

  /** Adds up the next rows of a closed month. Returns 0 once all are added up. */
  addUp(month: string): Promise<number>;

  /**
   * Takes the tables of a closed month out of the ledger, if `manifest` has the same rows and
   * digests. Calls stop for the time of a short lock. `other_rows`: the files differ.
   */
  detach(month: string, manifest: ArchiveManifest): Promise<Detached>;

  /** Deletes the tables of a detached month. Returns the state of the month after that. */
  drop(month: string): Promise<LedgerMonth["state"]>;
}

export type Detached = "detached" | "no_month" | "not_added_up" | "other_rows";

export interface LedgerMonth {
  readonly month: string;
  readonly state: "open" | "closed" | "detached" | "dropped";
  readonly rows: bigint;
  /** Of its tables in the ledger, with their indexes. */
  readonly bytes: bigint;
}

/** A table of an archived month, as the ledger has added it up. */
export interface ArchivedTable {
  readonly name: string;
  readonly rows: bigint;
  /** The sum of the first 52 bits of the SHA-256 of each row's text. */
  readonly digest: string;
}

/** The contents of an export. */
interface ArchiveManifest {
  readonly month: string;
  readonly tables: readonly {
    readonly name: string;
    readonly rows: number;
    readonly digest: string;
  }[];
}
