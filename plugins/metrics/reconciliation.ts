import { formatVnd, program, type Services } from "../../core/plugin/index.ts";
import { ClaimedRun } from "./claimed-run.ts";

type Rows = ReturnType<Services["operations"]["current"]["reconcile"]>;
type ReconcileRow = Rows extends AsyncIterable<infer Row> ? Row : never;

const DEAD_AFTER_SECONDS = 3_600;
const ROWS_LOGGED_MAX = 20;

/** The result of a reconciliation. */
export interface Reconciled {
  readonly wallets: number;
  readonly drifting: number;
  readonly driftMicroVnd: number;
}

/**
 * Reconciles all wallets periodically, so that a drift raises an alarm. Compares a wallet only with its last ledger row,
 * so that old accounts take no longer than new ones. `npm run admin -- reconcile` sums up every row.
 */
export function reconciliationOf(
  services: Services,
  everySeconds: number,
  isStopping: () => boolean,
): ClaimedRun<Reconciled> {
  return new ClaimedRun({
    services,
    name: "reconciliation",
    everySeconds,
    deadAfterSeconds: DEAD_AFTER_SECONDS,
    failure: "cannot reconcile; the metrics keep the last result",
    run: () => reconcile(services, isStopping),
  });
}

async function reconcile(
  { operations, log }: Services,
  isStopping: () => boolean,
): Promise<Reconciled | undefined> {
  const drifting: ReconcileRow[] = [];
  let count = 0;
  let drift = 0n;
  for await (const row of operations.current.reconcile({ isQuick: true })) {
    if (isStopping()) return undefined;
    if (row.purse === null) count += 1;
    if (row.driftMicroVnd === 0n) continue;
    drifting.push(row);
    drift += row.driftMicroVnd < 0n ? -row.driftMicroVnd : row.driftMicroVnd;
  }
  if (drifting.length > 0) {
    const rows = drifting.slice(0, ROWS_LOGGED_MAX).map(readable);
    log.error({ drifting: drifting.length, rows }, `wallets drift; see ${program.admin} reconcile`);
  }
  return { wallets: count, drifting: drifting.length, driftMicroVnd: Number(drift) };
}

function readable(row: ReconcileRow): object {
  return {
    accountId: row.accountId,
    purse: row.purse,
    ledgerSumVnd: formatVnd(row.ledgerSumMicroVnd),
    balanceVnd: formatVnd(row.balanceMicroVnd),
    availableVnd: formatVnd(row.availableMicroVnd),
    heldVnd: formatVnd(row.heldMicroVnd),
    pendingVnd: formatVnd(row.uncommittedMicroVnd),
    driftVnd: formatVnd(row.driftMicroVnd),
  };
}
