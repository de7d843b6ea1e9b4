import { type Machine, sleep } from "../process/machine.ts";
import type { Awaitable, Balances, HoldStore } from "./hold-store.ts";
import { type Ledger, type LedgerSum, NO_SUMS } from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import type { ReconcileRow } from "./wallet.ts";

const WALLETS_AT_ONCE = 50;
const ATTEMPTS = 20;

/**
 * Compares both stores wallet by wallet, then purse by purse, while calls run. A row with drift is checked again.
 */
export async function* reconcile(
  holdStore: HoldStore,
  ledger: Ledger,
  machine: Machine,
): AsyncGenerator<ReconcileRow> {
  const look = async (sum: LedgerSum) => {
    const row = compare(sum, await balancesOf(holdStore, sum));
    return row.driftMicroVnd === 0n ? row : lookAgain(row, holdStore, ledger, machine);
  };
  let some: LedgerSum[] = [];
  for await (const sum of ledger.sums()) {
    some.push(sum);
    if (some.length < WALLETS_AT_ONCE) continue;
    yield* await Promise.all(some.map(look));
    some = [];
  }
  yield* await Promise.all(some.map(look));
  yield* unknownWallets(holdStore, ledger, look);
}

/** Compares one wallet or purse. One that the ledger does not have counts as zeros there. */
export async function reconcileOne(
  holdStore: HoldStore,
  ledger: Ledger,
  machine: Machine,
  accountId: string,
  purse: string | null,
): Promise<ReconcileRow> {
  const sum = (await ledger.sum(accountId, purse)) ?? { accountId, purse, ...NO_SUMS };
  const row = compare(sum, await balancesOf(holdStore, sum));
  return row.driftMicroVnd === 0n ? row : lookAgain(row, holdStore, ledger, machine);
}

/** Yields the wallets that only the hold store has, and such purses if they drift. All of their money is drift. */
async function* unknownWallets(
  holdStore: HoldStore,
  ledger: Ledger,
  look: (sum: LedgerSum) => Promise<ReconcileRow>,
): AsyncGenerator<ReconcileRow> {
  for await (const page of holdStore.loadedVersions()) {
    if (page.length === 0) continue;
    for (const { accountId, purse } of await ledger.unknown(page)) {
      const sum = { accountId, purse, ...NO_SUMS };
      if (purse === null) yield compare(sum, await balancesOf(holdStore, sum));
      else {
        const row = await look(sum);
        if (row.driftMicroVnd !== 0n) yield row;
      }
    }
  }
}

/**
 * Checks a row with drift again, up to 20 times. The stores cannot be read at one instant, and a call is committed to
 * the ledger before it leaves `uncommitted`. So a read of the hold store counts only between two equal reads of the
 * ledger. Drift is real only if it remains in every attempt.
 *
 * If the commits of a busy wallet never pause, one of them is always between the two reads, and the reads are never equal. Then a read of the hold store counts that agrees with the first of them.
 */
async function lookAgain(
  first: ReconcileRow,
  holdStore: HoldStore,
  ledger: Ledger,
  machine: Machine,
): Promise<ReconcileRow> {
  let row = first;
  let everStoodStill = false;
  /** The row by the first of the two reads. Once it shows no drift, it is not replaced. */
  let moving = first;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = await ledger.sum(first.accountId, first.purse);
    const balances = await balancesOf(holdStore, first);
    const after = await ledger.sum(first.accountId, first.purse);
    if (before === undefined || after === undefined) return row;
    row = compare(after, balances);
    const stoodStill =
      before.entriesMicroVnd === after.entriesMicroVnd &&
      before.balanceMicroVnd === after.balanceMicroVnd;
    if (stoodStill && row.driftMicroVnd === 0n) return row;
    if (moving.driftMicroVnd !== 0n) moving = compare(before, balances);
    everStoodStill ||= stoodStill;
    await sleep(machine, LIFETIMES.reconcilePauseMs);
  }
  return everStoodStill ? row : moving;
}

function balancesOf(
  holdStore: HoldStore,
  { accountId, purse }: Pick<LedgerSum, "accountId" | "purse">,
): Awaitable<Balances | undefined> {
  return holdStore.balances(accountId, purse);
}

/** Computes a row. A wallet or purse that is not loaded counts with the amounts that a load would give it. */
function compare(sum: LedgerSum, loaded: Balances | undefined): ReconcileRow {
  const { balanceMicroVnd, quarantinedMicroVnd } = sum;
  const available = loaded
    ? BigInt(loaded.availableMicroVnd)
    : balanceMicroVnd - quarantinedMicroVnd;
  const held = BigInt(loaded?.heldMicroVnd ?? 0);
  const uncommitted = BigInt(loaded?.uncommittedMicroVnd ?? 0);
  const drift = available + held + uncommitted - sum.entriesMicroVnd;
  return {
    accountId: sum.accountId,
    purse: sum.purse,
    ledgerSumMicroVnd: sum.entriesMicroVnd,
    balanceMicroVnd: sum.balanceMicroVnd,
    availableMicroVnd: available,
    heldMicroVnd: held,
    uncommittedMicroVnd: uncommitted,
    driftMicroVnd: drift === 0n ? sum.balanceMicroVnd - sum.entriesMicroVnd : drift,
  };
}
