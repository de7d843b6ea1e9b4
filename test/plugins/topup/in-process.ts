import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Gateway } from "../../../core/boot/gateway.ts";
import { formatProblems, loadConfig } from "../../../core/config/load.ts";
import type { Clock } from "../../../core/process/clock.ts";
import { createLog } from "../../../core/process/log.ts";
import type { AdminTarget } from "../../support/admin.ts";
import { testConfig, writeConfig } from "../../support/gateway-config.ts";
import { copyEmptyLedger } from "../../support/ledger-template.ts";
import { migratedDatabase } from "../../support/postgres.ts";
import { topupPlugins } from "./topups.ts";

/** The system clock with an offset that a test can change. */
export class MovableClock implements Clock {
  offsetMs = 0;

  now(): number {
    return Date.now() + this.offsetMs;
  }

  monotonic(): number {
    return performance.now() + this.offsetMs;
  }

  /** Continues from this instant. */
  set(nowMs: number): void {
    this.offsetMs = nowMs - Date.now();
  }
}

export interface InProcess extends AdminTarget {
  readonly gateway: Gateway;
  readonly clock: MovableClock;
  close(): Promise<void>;
}

/** A gateway in the test's own process, for tests that move its clock or read its tables. */
export async function bootTopups(
  settings: Parameters<typeof topupPlugins>[0] = {},
  simulatorPort = 1,
  more: ReturnType<typeof topupPlugins> = {},
): Promise<InProcess> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const file = join(folder, "gateway.yaml");
  const adminToken = "token-of-the-test";
  const database = await migratedDatabase();
  writeConfig(
    file,
    testConfig(
      { plugins: { ...topupPlugins(settings), ...more } },
      { port: 0, data: folder, ledger: database?.url, simulatorPort, adminToken },
    ),
  );
  if (!database) await copyEmptyLedger(folder);
  const loaded = await loadConfig(file, process.env);
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  const clock = new MovableClock();
  const gateway = await Gateway.start(loaded.config, createLog("silent"), clock);
  return {
    gateway,
    clock,
    url: gateway.address,
    adminToken,
    async close() {
      await gateway.stop();
      await database?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
