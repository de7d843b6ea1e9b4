import type { ProofProgress } from "../../contract/ledger.ts";
import type { Sql } from "../../database/client.ts";
import { type Machine, sleep, systemMachine } from "../../process/machine.ts";
import { LIFETIMES } from "../lifetimes.ts";

/** Rows that one statement adds up: some 0.2 s. */
const ROWS = 100_000;

/**
 * Adds up the rows of the ledger, each once, page by page. Goes on after a restart, in any process. Another process
 * may do the same at the same time: they take turns.
 */
export class LedgerProof {
  private readonly sql: Sql;
  private readonly machine: Machine;
  private readonly rows: number;
  /** The id of the last row that these pages will add up. */
  private bound: bigint | undefined;

  constructor(sql: Sql, machine: Machine = systemMachine, rows = ROWS) {
    this.sql = sql;
    this.machine = machine;
    this.rows = rows;
  }

  /** Adds up the next page. Done once it reaches a row that was the newest when the first of these pages began. */
  async advance(): Promise<ProofProgress> {
    this.bound ??= await this.finalBound();
    const last = this.bound;
    const [row] = await this.sql.query<{ proven: bigint }>(
      "select prove_ledger($1, $2) as proven",
      [last, this.rows],
    );
    const provenThrough = row?.proven ?? 0n;
    const isDone = provenThrough >= last;
    if (isDone) this.bound = undefined;
    return { provenThrough, last, isDone };
  }

  async restart(): Promise<void> {
    this.bound = undefined;
    await this.sql.query("select restart_ledger_proof()");
  }

  /**
   * Returns the newest row before which no other can appear: waits for the transactions that may still write one. If one
   * of them takes too long, returns the row that was proven last.
   */
  private async finalBound(): Promise<bigint> {
    // Transactions before `next` may still write a row with a lower id.
    const newest = await this.read<{ id: bigint; next: string }>(
      `select coalesce(max(id), 0) as id, pg_snapshot_xmax(pg_current_snapshot())::text as next
      from ledger_entries`,
    );
    const deadlineMs = this.machine.monotonic() + LIFETIMES.proofWaitMs;
    while (!(await this.haveEnded(newest.next))) {
      if (this.machine.monotonic() >= deadlineMs) {
        return (await this.read<{ id: bigint }>("select entry_id as id from ledger_proof")).id;
      }
      await sleep(this.machine, LIFETIMES.proofPollMs);
    }
    return newest.id;
  }

  private async read<Row extends object>(text: string): Promise<Row> {
    const [row] = await this.sql.query<Row>(text);
    if (row === undefined) throw new Error("the ledger did not say its newest row");
    return row;
  }

  /** Returns true if all transactions before this one have ended. */
  private async haveEnded(transaction: string): Promise<boolean> {
    const [row] = await this.sql.query<{ ended: boolean }>(
      "select pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8 as ended",
      [transaction],
    );
    return row?.ended ?? false;
  }
}
