import {
  formatVnd,
  PeriodicTask,
  type ReconcileRow,
  type Services,
  ThrottledLog,
} from "../../core/contract/index.ts";

const POLL_MS_MAX = 30_000;
/** After this time a run counts as dead, and another process may start one. */
const DEAD_AFTER_SECONDS = 3_600;
const ROWS_LOGGED_MAX = 20;

/** The result of the last reconciliation, by any process. */
interface Reconciled {
  readonly atMs: number;
  readonly wallets: number;
  readonly drifting: number;
  readonly driftMicroVnd: number;
}

/**
 * Reconciles all wallets periodically, so that a drift raises an alarm. The first process that finds a run due does it;
 * all processes expose the result. Compares a wallet only with its last ledger row, so that old accounts take no longer
 * than new ones. `npm run admin -- reconcile` sums up every row.
 */
export class Reconciliation {
  private readonly services: Services;
  private readonly everySeconds: number;
  private readonly log: ThrottledLog;
  private readonly task: PeriodicTask;
  private stopping = false;
  last: Reconciled | undefined;

  constructor(services: Services, everySeconds: number) {
    this.services = services;
    this.everySeconds = everySeconds;
    this.log = new ThrottledLog(services.log);
    const pollMs = Math.min(POLL_MS_MAX, everySeconds * 1_000);
    this.task = new PeriodicTask(async () => {
      await this.round();
      return pollMs;
    });
  }

  start(): void {
    if (this.everySeconds > 0) this.task.start();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.task.stop();
  }

  private async round(): Promise<void> {
    try {
      if (await this.take()) await this.reconcile();
      await this.look();
    } catch (error) {
      this.log.warn({ err: error }, "cannot reconcile; the metrics keep the last result");
    }
  }

  /** Claims a run that is due. Returns false if none is, or another process has claimed it. */
  private async take(): Promise<boolean> {
    const taken = await this.services.database.query(
      `update reconciliation set started_at = now()
      where started_at <= now() - $1::integer * interval '1 second'
        and (finished_at >= started_at or finished_at is null and started_at = 'epoch'
          or started_at <= now() - $2::integer * interval '1 second')
      returning 1 as taken`,
      [this.everySeconds, DEAD_AFTER_SECONDS],
    );
    return taken.length > 0;
  }

  private async reconcile(): Promise<void> {
    const { wallets, database, log } = this.services;
    const drifting: ReconcileRow[] = [];
    let count = 0;
    let drift = 0n;
    for await (const row of wallets.reconcile({ isQuick: true })) {
      if (this.stopping) return;
      if (row.limit === null) count += 1;
      if (row.driftMicroVnd === 0n) continue;
      drifting.push(row);
      drift += row.driftMicroVnd < 0n ? -row.driftMicroVnd : row.driftMicroVnd;
    }
    if (drifting.length > 0) {
      const rows = drifting.slice(0, ROWS_LOGGED_MAX).map(readable);
      log.error(
        { drifting: drifting.length, rows },
        "wallets drift; see npm run admin -- reconcile",
      );
    }
    await database.query(
      "update reconciliation set finished_at = now(), wallets = $1, drifting = $2, drift = $3",
      [count, drifting.length, drift],
    );
  }

  private async look(): Promise<void> {
    const [last] = await this.services.database.query<Reconciled>(
      `select extract(epoch from finished_at)::float8 * 1000 as "atMs", wallets::float8 as wallets,
        drifting::float8 as drifting, drift::float8 as "driftMicroVnd"
      from reconciliation where finished_at is not null`,
    );
    this.last = last;
  }
}

function readable(row: ReconcileRow): object {
  return {
    accountId: row.accountId,
    limit: row.limit,
    ledgerSumVnd: formatVnd(row.ledgerSumMicroVnd),
    balanceVnd: formatVnd(row.balanceMicroVnd),
    availableVnd: formatVnd(row.availableMicroVnd),
    heldVnd: formatVnd(row.heldMicroVnd),
    pendingVnd: formatVnd(row.uncommittedMicroVnd),
    driftVnd: formatVnd(row.driftMicroVnd),
  };
}
