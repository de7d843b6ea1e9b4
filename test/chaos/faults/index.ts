import type { Mode } from "../redis-stage.ts";
import { BACKLOG_FAULTS } from "./backlog.ts";
import { CLIENT_FAULTS } from "./clients.ts";
import { CLUSTER_FAULTS } from "./cluster.ts";
import { CONNECTION_FAULTS } from "./connection.ts";
import { DISK_FAULTS } from "./disk.ts";
import type { Fault } from "./fault.ts";
import { FORGETTING } from "./forget.ts";
import { FREEZES } from "./freeze.ts";
import { KILLS } from "./kill.ts";
import { RESTORE_LEDGER } from "./restore-ledger.ts";
import { UPGRADE_AND_BACK, UPGRADE_ONLY } from "./upgrade.ts";

/** Every kind of harm. */
export const FAULTS: readonly Fault[] = [
  ...KILLS,
  ...FREEZES,
  ...CONNECTION_FAULTS,
  ...FORGETTING,
  ...BACKLOG_FAULTS,
  ...DISK_FAULTS,
  ...CLUSTER_FAULTS,
  ...CLIENT_FAULTS,
  RESTORE_LEDGER,
  ...UPGRADE_AND_BACK,
  ...UPGRADE_ONLY,
];

/** Those that a run can draw. Without a small disk, no disk is filled. Without two versions, nothing is upgraded. */
export function faultsFor(
  chosen: readonly Fault[],
  {
    mode,
    hasDisks,
    isShort,
    versions,
  }: { mode: Mode; hasDisks: boolean; isShort: boolean; versions: "one" | "upgrade" | "both ways" },
): readonly Fault[] {
  const left = [
    ...(versions === "both ways" ? [] : UPGRADE_AND_BACK),
    ...(versions === "upgrade" ? [] : UPGRADE_ONLY),
  ];
  return chosen.filter(
    (fault) =>
      fault.modes.includes(mode) &&
      !left.includes(fault) &&
      (hasDisks || !DISK_FAULTS.includes(fault)) &&
      !(isShort && fault.isLong),
  );
}
