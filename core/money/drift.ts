import { isId, newId } from "../process/id.ts";
import { type Machine, sleep, systemMachine } from "../process/machine.ts";
import type { HoldStore } from "./hold-store.ts";
import { DRIFT_REFERENCE } from "./ledger/corrections.ts";
import type { DriftBooks, Evidence } from "./ledger/drift-books.ts";
import type { Ledger } from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { reconcileOne } from "./reconcile.ts";
import type { ReconcileRow } from "./wallet.ts";

const FORGET_ATTEMPTS = 20;

/**
 * Why a wallet or a purse drifts. `rows`: ledger rows were changed. `balance`: the stored balance was. `loaded`: the hold store
 * has another amount. `quarantine` ends with `quarantine retry`, `proof` with `reconcile --full`. `unproven`: the figures prove no
 * amount.
 */
type DriftCause = "none" | "rows" | "balance" | "loaded" | "quarantine" | "proof" | "unproven";

interface Drift {
  readonly row: ReconcileRow;
  /** Undefined if the ledger has no such wallet. */
  readonly evidence: Evidence | undefined;
  readonly cause: DriftCause;
  /** True if `mend` ends a drift of this cause. */
  readonly isMendable: boolean;
  /** How much the figure that is furthest off has to change, in µđ. Calls do not change it. */
  readonly differenceMicroVnd: bigint;
}

interface MendResult {
  /** `changed`: the difference is another one by now. `in_use`: the ledger is mended, but calls use what is loaded. */
  readonly kind: "mended" | "changed" | "in_use" | "not_mendable";
  /** As it is after that. */
  readonly drift: Drift;
}

interface Differences {
  readonly balance: bigint;
  readonly entries: bigint;
  readonly loaded: bigint;
  readonly proof: bigint;
}

/**
 * Finds out which figure of a wallet or a purse is wrong, and mends it. The ledger's rows are never changed: if they do not add
 * up to the proven amount, the difference is booked. Every other figure follows from them, and is set again.
 */
export class Drifts {
  constructor(
    private readonly holdStore: HoldStore,
    private readonly ledger: Ledger,
    private readonly books: DriftBooks,
    private readonly machine: Machine = systemMachine,
  ) {}

  /** Returns undefined if neither store has such a wallet. */
  async show(accountId: string, purse: string | null): Promise<Drift | undefined> {
    if (!isId(accountId)) return undefined;
    const { holdStore, ledger, machine } = this;
    const evidence = await this.books.evidence(accountId, purse);
    if (!evidence && !(await holdStore.balances(accountId, purse))) return undefined;
    const row = await reconcileOne(holdStore, ledger, machine, accountId, purse);
    const differences = differencesOf(row, evidence);
    const { balance, entries, loaded } = differences;
    const cause = causeOf(differences, evidence, row);
    return {
      row,
      evidence,
      cause,
      isMendable: cause === "rows" || cause === "balance" || cause === "loaded",
      differenceMicroVnd: [balance, entries, loaded].reduce(further),
    };
  }

  /** Mends a drift of exactly this difference. Safe to repeat. */
  async mend(
    accountId: string,
    purse: string | null,
    differenceMicroVnd: bigint,
    reason: string,
  ): Promise<MendResult | undefined> {
    const drift = await this.show(accountId, purse);
    if (!drift) return undefined;
    const { cause } = drift;
    if (!drift.isMendable) return { kind: "not_mendable", drift };
    if (drift.differenceMicroVnd !== differenceMicroVnd) return { kind: "changed", drift };
    if (drift.evidence && cause !== "loaded" && !(await this.mendBooks(drift, reason))) {
      return { kind: "changed", drift: (await this.show(accountId, purse)) ?? drift };
    }
    const after = await this.show(accountId, purse);
    if (after?.cause !== "loaded") return { kind: "mended", drift: after ?? drift };
    const isForgotten = await this.forget(accountId, purse);
    const last = (await this.show(accountId, purse)) ?? drift;
    return { kind: isForgotten ? "mended" : "in_use", drift: last };
  }

  /** Returns false if the ledger has other figures by now. */
  private mendBooks({ row, evidence }: Drift, reason: string): Promise<boolean> {
    const { accountId, purse } = row;
    const { balance, entries } = differencesOf(row, evidence);
    const reference = `${DRIFT_REFERENCE}${newId(this.machine.now())}`;
    return this.books.mend({ accountId, purse, balance, entries, reference, reason });
  }

  /** Waits for calls of the account, for some seconds. */
  private async forget(accountId: string, purse: string | null): Promise<boolean> {
    for (let attempt = 0; attempt < FORGET_ATTEMPTS; attempt += 1) {
      if (await this.holdStore.forget(accountId, purse)) return true;
      await sleep(this.machine, LIFETIMES.reconcilePauseMs);
    }
    return false;
  }
}

const NOTHING = { balance: 0n, entries: 0n, summed: 0n, quarantined: 0n, proven: 0n };

/** By how much each figure differs from the proven amount. */
function differencesOf(row: ReconcileRow, evidence: Evidence = NOTHING): Differences {
  const { balance, entries, summed, quarantined } = evidence;
  const proven = evidence.proven ?? entries;
  const { availableMicroVnd, heldMicroVnd, uncommittedMicroVnd, ledgerSumMicroVnd } = row;
  const loaded = availableMicroVnd + heldMicroVnd + uncommittedMicroVnd;
  // The row is of another instant than the evidence: only what is of one instant is compared.
  const expected = ledgerSumMicroVnd + proven - summed - quarantined;
  // A wallet is loaded with 0 if more is in quarantine. A purse is always below zero.
  const loadedAs = (amount: bigint) => (row.purse === null && amount < 0n ? 0n : amount);
  return {
    balance: proven - balance,
    entries: proven - entries,
    loaded: loadedAs(expected) - loadedAs(loaded),
    proof: entries - summed,
  };
}

function causeOf(
  { balance, entries, loaded, proof }: Differences,
  evidence: Evidence = NOTHING,
  { driftMicroVnd }: ReconcileRow,
): DriftCause {
  if (evidence.proven === null) return "unproven";
  if (entries !== 0n) return "rows";
  if (balance !== 0n) return "balance";
  if (loaded !== 0n) return "loaded";
  if (proof !== 0n) return "proof";
  return driftMicroVnd === 0n && evidence.quarantined === 0n ? "none" : "quarantine";
}

function further(one: bigint, other: bigint): bigint {
  const size = (amount: bigint) => (amount < 0n ? -amount : amount);
  return size(other) > size(one) ? other : one;
}
