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
 * Reconciles all wallets periodically, so that a drift raises an alarm. The first run on a long ledger adds up all of its
 * rows, page by page; a later one only those that are new.
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
  // `reconcile` does it too, and a stop would wait until it has added up all.
  while (!(await operations.current.prove()).isDone) if (isStopping()) return undefined;
  const drifting: ReconcileRow[] = [];
  let count = 0;
  let drift = 0n;
  for await (const row of operations.current.reconcile()) {
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
