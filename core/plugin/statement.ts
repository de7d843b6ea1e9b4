/** Prefix of the references of bank transfers in the ledger; the transfer's id follows. */
export const TRANSFER_REFERENCE = "transfer:";

/**
 * All money of an account in a period, read from the ledger in one statement: opening + rows = closing, to the µđ.
 *
 * A movement counts at the time of its commit, a charge on the day (in Vietnam) on which its call began.
 */
export interface Statement {
  readonly openingMicroVnd: bigint;
  readonly closingMicroVnd: bigint;
  /** Oldest first; the charges of a day are its last row. */
  readonly rows: readonly StatementRow[];
  /** True if there are more than 5,000 movements; then `rows` lacks the oldest. Each balance is right. */
  readonly isCut: boolean;
}

export interface StatementRow {
  /** Of a movement: when it was committed; null for the charges of a day. */
  readonly at: Date | null;
  /** In Vietnam. */
  readonly day: string;
  /**
   * `transfer`: a bank transfer. `credit`: money that the operator added. `adjustment`: a correction or a refund, of
   * either sign. `charges`: all calls of the day.
   */
  readonly kind: "transfer" | "credit" | "adjustment" | "charges";
  readonly amountMicroVnd: bigint;
  /** After this row. */
  readonly balanceMicroVnd: bigint;
  /** Of a transfer the code of its order, else why the operator moved money; null if unknown. */
  readonly reason: string | null;
  /** Number of calls; 0 for a movement. */
  readonly calls: number;
}
