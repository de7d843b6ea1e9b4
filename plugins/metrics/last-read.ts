import { MICRO_VND_PER_VND, type Services } from "../../core/plugin/index.ts";
import type { Standing } from "./ages.ts";
import type { ClaimedRun } from "./claimed-run.ts";
import type { Reconciled } from "./reconciliation.ts";

/**
 * Returns a function that provides a gauge of the last reading of all processes, so that workers differ only in when they read. Such
 * a gauge has no value before the first reading: a gauge of 0 would say that the books agree.
 */
function gaugesOf<Result>({ gauges }: Services, run: ClaimedRun<Result>) {
  return (name: string, help: string, read: (result: Result, atMs: number) => number) => {
    gauges.provide({
      name,
      help,
      value() {
        const value = run.last && read(run.last.result, run.last.atMs);
        // A run of another version may lack it.
        return Number.isFinite(value) ? value : undefined;
      },
    });
  };
}

/** `everySeconds`: its period; 0 = never, so none is late. */
export function provideReconciliation(
  services: Services,
  reconciliation: ClaimedRun<Reconciled>,
  everySeconds: number,
): void {
  const gauge = gaugesOf(services, reconciliation);
  gauge(
    "tollgate_drifting_wallets",
    "Wallets and purses with a drift at the last reconciliation.",
    (last) => last.drifting,
  );
  gauge(
    "tollgate_drift_vnd",
    "Sum of the absolute drifts at the last reconciliation, in đ.",
    (last) => last.driftMicroVnd / MICRO_VND_PER_VND,
  );
  gauge(
    "tollgate_reconciled_timestamp_seconds",
    "Unix time at which the last reconciliation ended.",
    (_, atMs) => atMs / 1000,
  );
  if (everySeconds === 0) return;
  const startMs = services.clock.now();
  services.gauges.provide({
    name: "tollgate_reconciliation_late_seconds",
    help: "How much longer than reconcile_seconds ago the last reconciliation ended, or this process started.",
    value() {
      const sinceMs = services.clock.now() - (reconciliation.last?.atMs ?? startMs);
      return Math.max(0, sinceMs / 1_000 - everySeconds);
    },
  });
}

export function provideAges(services: Services, ages: ClaimedRun<Standing>): void {
  const gauge = gaugesOf(services, ages);
  const age = (sinceMs: number | undefined) =>
    sinceMs === undefined ? 0 : Math.max(0, (services.clock.now() - sinceMs) / 1_000);
  gauge("tollgate_holds", "Holds of calls, in all processes.", (last) => last.holds);
  gauge("tollgate_oldest_hold_seconds", "Age of the oldest hold; 0 if there is none.", (last) =>
    age(last.oldestHoldMs),
  );
  const startMs = services.clock.now();
  services.gauges.provide({
    name: "tollgate_oldest_uncommitted_seconds",
    help: "Age of the oldest posted call that is not in the ledger; 0 if there is none.",
    value() {
      const { commits, uncommittedCalls } = services.status;
      const read = ages.last && age(ages.last.result.oldestPostMs);
      if (!commits.failing || uncommittedCalls() === 0) return read;
      // While the ledger is down it takes no reading either: calls wait since the last one at most.
      return Math.max(read ?? 0, age(ages.last?.atMs ?? startMs));
    },
  });
  gauge("tollgate_quarantined_calls", "Calls in quarantine.", (last) => last.quarantined);
  gauge(
    "tollgate_oldest_quarantined_seconds",
    "Age of the oldest call in quarantine; 0 if there is none.",
    (last) => age(last.oldestQuarantinedMs),
  );
}
