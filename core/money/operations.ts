import type { Drifts } from "./drift.ts";
import type { HoldStore } from "./hold-store.ts";
import type { LedgerArchive } from "./ledger/archive.ts";
import { EntryRefused, EntryUnreadable, type Ledger } from "./ledger.ts";
import type { StoredWallets } from "./stored-wallets.ts";

/** The books of money, as operators prove and repair them. Only `drifts.mend` changes an amount. */
export interface Operations
  extends Pick<StoredWallets, "reconcile" | "call" | "unsent">,
    Pick<HoldStore, "standing" | "restoreFromLedger">,
    Pick<Ledger, "prove" | "usage" | "searchCalls" | "quarantined" | "quarantineList"> {
  /** Shows which figure of a wallet or a purse is wrong, and mends it. */
  readonly drifts: Drifts;
  /** Commits a call from quarantine once the cause is fixed. If it is not, nothing changes. */
  commitQuarantined(callId: string): Promise<QuarantineResult>;
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
    reconcile: () => wallets.reconcile(),
    prove: (options) => ledger.prove(options),
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
