import type { Sql } from "../../database/client.ts";
import { type Machine, sleep, systemMachine } from "../../process/machine.ts";
import type { OpenTransaction, ProofProgress } from "../ledger.ts";
import { LIFETIMES } from "../lifetimes.ts";

/** Rows that one statement adds up: some 0.2 s. */
const ROWS = 100_000;
/** The transaction with the lowest id of those that run. A prepared one has no process. */
const OLDEST = `
  (select pid, application_name as name, xact_start as since from pg_stat_activity
    where backend_xid is not null and pid <> pg_backend_pid() order by age(backend_xid) desc limit 1)
  union all
  (select null, gid, prepared from pg_prepared_xacts order by age(transaction) desc limit 1)
  order by since limit 1`;

type ProvenRows = Pick<ProofProgress, "provenThrough" | "last">;

/**
 * Adds up the rows of the ledger, each once, page by page. Goes on after a restart, in any process. Another process may
 * do the same at the same time: they take turns.
 */
export class LedgerProof {
  private readonly rows: number;
  /** The id of the last row that these pages will add up. */
  private bound: bigint | undefined;
  private heldUpBy: OpenTransaction | undefined;

  constructor(
    private readonly sql: Sql,
    private readonly machine: Machine = systemMachine,
    rows = ROWS,
  ) {
    this.rows = rows;
  }

  /** Adds up the next page. Done once it reaches a row that was the newest when the first of these pages began. */
  async advance(): Promise<ProofProgress> {
    this.bound ??= await this.finalBound();
    const { provenThrough, last } = await this.proveRows(this.bound);
    if (provenThrough < last) return { provenThrough, last, isDone: false };
    this.bound = undefined;
    const { heldUpBy } = this;
    return { provenThrough, last, ...(heldUpBy && { heldUpBy }), isDone: true };
  }

  async restart(): Promise<void> {
    this.bound = undefined;
    await this.sql.query("select restart_ledger_proof()");
  }

  /** Adds up the next rows, up to `bound`. */
  private async proveRows(bound: bigint): Promise<ProvenRows> {
    const [row] = await this.sql.query<ProvenRows>(
      `select prove_ledger($1, $2) as "provenThrough", $1::bigint as last`,
      [bound, this.rows],
    );
    return row ?? { provenThrough: 0n, last: bound };
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
    this.heldUpBy = undefined;
    if (!(await this.within(() => this.haveEnded(newest.next)))) {
      const [oldest] = await this.sql.query<OpenTransaction>(OLDEST);
      this.heldUpBy = oldest ?? { pid: null, name: null, since: null };
      return (await this.read<{ id: bigint }>("select entry_id as id from ledger_proof")).id;
    }
    return newest.id;
  }

  /** Asks until it is true, for some seconds at most. Returns the last reply. */
  private async within(isTrue: () => Promise<boolean>): Promise<boolean> {
    const deadlineMs = this.machine.monotonic() + LIFETIMES.proofWaitMs;
    while (!(await isTrue())) {
      if (this.machine.monotonic() >= deadlineMs) return false;
      await sleep(this.machine, LIFETIMES.proofPollMs);
    }
    return true;
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
