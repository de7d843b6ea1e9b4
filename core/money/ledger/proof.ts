import type { ProofProgress } from "../../contract/ledger.ts";
import type { Sql } from "../../database/client.ts";
import { type Machine, sleep, systemMachine } from "../../process/machine.ts";
import { LIFETIMES } from "../lifetimes.ts";

/** Rows that one statement adds up: some 0.2 s. */
const ROWS = 100_000;

interface Bound {
  /** The id of the newest row that was committed. */
  readonly entryId: bigint;
  /** The first transaction that had not begun then. Earlier ones may write a row with a lower id. */
  readonly transaction: string;
}

/**
 * Adds up the rows of the ledger, each once, page by page. Goes on after a restart, in any process. Another process
 * may do the same at the same time: they take turns.
 */
export class LedgerProof {
  private readonly sql: Sql;
  private readonly machine: Machine;
  private readonly rows: number;
  private bound: Bound | undefined;

  constructor(sql: Sql, machine: Machine = systemMachine, rows = ROWS) {
    this.sql = sql;
    this.machine = machine;
    this.rows = rows;
  }

  /** Adds up the next page. Done once it reaches a row that was the newest when the first of these pages began. */
  async advance(): Promise<ProofProgress> {
    this.bound ??= await this.finalBound();
    const { entryId } = this.bound;
    const [row] = await this.sql.query<{ proven: bigint }>(
      "select prove_ledger($1, $2) as proven",
      [entryId, this.rows],
    );
    const provenThrough = row?.proven ?? 0n;
    const isDone = provenThrough >= entryId;
    if (isDone) this.bound = undefined;
    return { provenThrough, last: entryId, isDone };
  }

  async restart(): Promise<void> {
    this.bound = undefined;
    await this.sql.query("select restart_ledger_proof()");
  }

  /**
   * Returns the newest row before which no other can appear: waits for the transactions that may still write one. If one
   * of them takes too long, returns the row that was proven last.
   */
  private async finalBound(): Promise<Bound> {
    const bound = await this.read("(select coalesce(max(id), 0) from ledger_entries)");
    const deadlineMs = this.machine.monotonic() + LIFETIMES.proofWaitMs;
    while (!(await this.haveEnded(bound))) {
      if (this.machine.monotonic() >= deadlineMs)
        return this.read("(select entry_id from ledger_proof)");
      await sleep(this.machine, LIFETIMES.proofPollMs);
    }
    return bound;
  }

  private async read(entryId: string): Promise<Bound> {
    const [row] = await this.sql.query<Bound>(
      `select ${entryId} as "entryId", pg_snapshot_xmax(pg_current_snapshot())::text as transaction`,
    );
    if (row === undefined) throw new Error("the ledger did not say its newest row");
    return row;
  }

  private async haveEnded({ transaction }: Bound): Promise<boolean> {
    const [row] = await this.sql.query<{ ended: boolean }>(
      "select pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8 as ended",
      [transaction],
    );
    return row?.ended ?? false;
  }
}
