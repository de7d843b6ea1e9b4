import { sqlState } from "../../database/client.ts";
import type { Database, Parameter } from "../../database/database.ts";
import { type Machine, sleep, systemMachine } from "../../process/machine.ts";
import type { ArchivedTable, Detached, LedgerArchive, LedgerMonth } from "../ledger-archive.ts";
import { LIFETIMES } from "../lifetimes.ts";

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
        "select name, rows, digest::text as digest from archived_tables where month = $1 order by name",
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
