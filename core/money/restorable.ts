/** A hold store that notices a ledger that lost commits, for example by the restore of a backup. */
export interface Restorable {
  /**
   * True if the ledger lacks commits that it had confirmed. Every hold is refused until
   * `restoreFromLedger`.
   */
  ledgerWentBack(): boolean;

  /**
   * Drops every wallet and loads it from the ledger again, then accepts that the ledger lost
   * commits. Posted calls that are not in the ledger are committed. If it rejects or the process
   * dies, repeat it: holds stay refused until all of it is done.
   */
  restoreFromLedger(): Promise<RestoreResult>;
}

export type RestoreResult =
  | { readonly kind: "restored" }
  /** Calls that run here, or their posts, still use wallets. Nothing has changed; try again. */
  | { readonly kind: "busy"; readonly reason: string };
