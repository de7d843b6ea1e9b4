import { sqlState } from "../../database/client.ts";
import type { Database, Parameter } from "../../database/database.ts";
import { type Machine, sleep, systemMachine } from "../../process/machine.ts";
import { LIFETIMES } from "../lifetimes.ts";

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

type Detached = "detached" | "no_month" | "not_added_up" | "other_rows";

interface LedgerMonth {
  readonly month: string;
  readonly state: "open" | "closed" | "detached" | "dropped";
  readonly rows: bigint;
  /** Of its tables in the ledger, with their indexes. */
  readonly bytes: bigint;
}

/** A table of an archived month, as the ledger has added it up. */
interface ArchivedTable {
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

/** Rows that one statement adds up: some 0.5 s. */
const ROWS = 20_000;
/** A statement did not get its lock in time, or two waited for each other. */
const LOCK_STATES = ["55P03", "40P01"];
const ATTEMPTS = 60;

/** Archives months of the ledger in Postgres: see the section on months in `0002-ledger.sql`. */
export function archiveOf(
  database: Pick<Database, "query">,
  machine: Machine = systemMachine,
): LedgerArchive {
  async function one<T>(text: string, parameters: readonly Parameter[]): Promise<T> {
    const [row] = await database.query<{ result: T }>(text, parameters);
    if (row === undefined) throw new Error("the ledger did not say what it did");
    return row.result;
  }

  /** Tries again if a statement would make calls wait for its lock. */
  async function locking<T>(text: string, parameters: readonly Parameter[]): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await one<T>(text, parameters);
      } catch (error) {
        if (attempt === ATTEMPTS || !LOCK_STATES.includes(sqlState(error) ?? "")) throw error;
        await sleep(machine, LIFETIMES.proofPollMs);
      }
    }
  }

  return {
    months: () => database.query<LedgerMonth>("select * from ledger_months()"),
    close: (month) => locking("select close_month($1) as result", [month]),
    reopen: (month) => locking("select reopen_month($1) as result", [month]),
    tables: (month) =>
      database.query<ArchivedTable>(
        "select usage_part(month) as name, rows, digest::text as digest from archived_months where month = $1",
        [month],
      ),
    lines: async (table, after, limit) => {
      const rows = await database.query<{ line: string }>(
        "select * from archive_lines($1, $2::text::json, $3) as lines (line)",
        [table, after, limit],
      );
      return rows.map(({ line }) => line);
    },
    addUp: (month) => one<number>("select add_up_month($1, $2) as result", [month, ROWS]),
    detach: (month, manifest) =>
      locking<Detached>("select detach_month($1, $2::text::json) as result", [
        month,
        JSON.stringify(manifest),
      ]),
    drop: (month) => locking<LedgerMonth["state"]>("select drop_month($1) as result", [month]),
  };
}
