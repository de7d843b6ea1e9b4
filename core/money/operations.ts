import type { Drifts } from "./drift.ts";
import type { FoundCall } from "./found-call.ts";
import type { HoldStore, RestoreResult } from "./hold-store.ts";
import type { LedgerArchive } from "./ledger/archive.ts";
import {
  type CallSearch,
  EntryRefused,
  EntryUnreadable,
  type FoundCalls,
  type Ledger,
  type ProofProgress,
  type QuarantinedCall,
  type UsageQuery,
} from "./ledger.ts";
import type { StandingCall } from "./standing.ts";
import type { StoredWallets } from "./stored-wallets.ts";
import type { UsageRecord } from "./usage-fields.ts";
import type { ReconcileRow } from "./wallet.ts";

/** The books of money, as operators prove and repair them. Only `drifts.mend` changes an amount. */
export interface Operations {
  /**
   * Returns a row for every wallet, then for every purse: its parts, and by how much they differ from
   * the ledger. That drift must be 0, even under load.
   */
  reconcile(options?: { readonly isQuick?: boolean }): AsyncIterable<ReconcileRow>;
  /** Shows which figure of a wallet or a purse is wrong, and mends it. */
  readonly drifts: Drifts;
  /** Adds up ledger rows in advance, so that `reconcile` need not read them: see `Ledger.prove`. */
  prove(options?: { readonly isRestart?: boolean }): Promise<ProofProgress>;
  /** Returns the record of a posted call, as `Wallets.call` does. */
  call(callId: string): Promise<FoundCall | undefined>;
  /** Returns records of calls of an account, newest first. */
  usage(query: UsageQuery): Promise<UsageRecord[]>;
  /** Returns records of calls of all accounts, newest first: see `Ledger.searchCalls`. */
  searchCalls(search: CallSearch): Promise<FoundCalls>;
  /** Yields all holds, in pages, and the oldest post of each outbox: see `HoldStore.standing`. */
  standing(): AsyncIterable<readonly StandingCall[]>;
  /** Returns charges that only this process has, in its memory or in its spool. */
  unsent(): StandingCall[];
  /** Returns how many calls are in quarantine, because the ledger refused them. */
  quarantined(): Promise<number>;
  /** Returns calls in quarantine, oldest first. */
  quarantineList(limit: number): Promise<QuarantinedCall[]>;
  /** Commits a call from quarantine once the cause is fixed. If it is not, nothing changes. */
  commitQuarantined(callId: string): Promise<QuarantineResult>;
  /** Loads every wallet from the ledger again, after the ledger was restored from a backup. */
  restoreFromLedger(): Promise<RestoreResult>;
  /** Old months of the ledger, which operators export and take out of it. */
  readonly archive: LedgerArchive;
}

type QuarantineResult =
  | { readonly kind: "committed" }
  /** No such call is in quarantine. */
  | { readonly kind: "no_call" }
  /** `refused`: the ledger still refuses it. `unreadable`: this version cannot read it. */
  | { readonly kind: "refused" | "unreadable"; readonly reason: string };

interface Stores {
  readonly wallets: StoredWallets;
  readonly holdStore: HoldStore;
  readonly ledger: Ledger;
  readonly archive: LedgerArchive;
  readonly drifts: Drifts;
}

export function operationsOf({ wallets, holdStore, ledger, archive, drifts }: Stores): Operations {
  return {
    reconcile: (options) => wallets.reconcile(options),
    prove: (options) => wallets.prove(options),
    call: (callId) => wallets.call(callId),
    usage: (query) => ledger.usage(query),
    searchCalls: (search) => ledger.searchCalls(search),
    standing: () => holdStore.standing(),
    unsent: () => wallets.unsent(),
    quarantined: () => ledger.quarantined(),
    quarantineList: (limit) => ledger.quarantineList(limit),
    commitQuarantined: (callId) => commitQuarantined(ledger, callId),
    restoreFromLedger: () => holdStore.restoreFromLedger(),
    archive,
    drifts,
  };
}

async function commitQuarantined(ledger: Ledger, callId: string): Promise<QuarantineResult> {
  try {
    const isThere = await ledger.commitQuarantined(callId);
    return { kind: isThere ? "committed" : "no_call" };
  } catch (error) {
    if (error instanceof EntryUnreadable) return { kind: "unreadable", reason: error.message };
    if (error instanceof EntryRefused) return { kind: "refused", reason: error.message };
    throw error;
  }
}
