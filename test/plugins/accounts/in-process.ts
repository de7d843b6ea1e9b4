import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Gateway } from "../../../core/boot/gateway.ts";
import { type GatewayConfig, loadConfig } from "../../../core/config/load.ts";
import type { Clock } from "../../../core/process/clock.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { createLog } from "../../../core/process/log.ts";
import { MAIL_FROM } from "../../support/accounts.ts";
import { testConfig, writeConfig } from "../../support/gateway-config.ts";
import { copyEmptyLedger } from "../../support/ledger-template.ts";
import { startMailServer, type TestMailServer } from "../../support/mail-server.ts";
import { migratedDatabase } from "../../support/postgres.ts";

const ADMIN_TOKEN = "token";

/** A gateway in the test's own process; the test can list its routes and move its clock. */
export interface GatewayInProcess {
  readonly url: string;
  readonly adminToken: string;
  readonly gateway: Gateway;
  readonly config: GatewayConfig;
  readonly mailServer: TestMailServer;
  /** Moves the clock forward. */
  pass(ms: number): void;
  /** Returns the time of its clock. */
  now(): number;
  close(): Promise<void>;
}

/** `messages`: options of that plugin. `without`: a plugin of `config` that only a reload adds. */
export async function bootInProcess(
  simulatorPort = 1,
  messages: JsonObject = {},
  without?: string,
): Promise<GatewayInProcess> {
  const mailServer = await startMailServer();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const file = join(folder, "gateway.yaml");
  const smtp = { host: "127.0.0.1", port: mailServer.port, from: MAIL_FROM };
  const database = await migratedDatabase();
  const ledger = database?.url;
  const around = { port: 0, data: folder, ledger, simulatorPort, adminToken: ADMIN_TOKEN };
  writeConfig(file, testConfig({ plugins: { messages: { smtp, ...messages } } }, around));
  if (!database) await copyEmptyLedger(folder);
  const loaded = await loadConfig(file, process.env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  let passedMs = 0;
  const clock: Clock = {
    now: () => Date.now() + passedMs,
    monotonic: () => performance.now() + passedMs,
  };
  const { config } = loaded;
  const plugins = config.plugins.filter(({ name }) => name !== without);
  const gateway = await Gateway.start({ ...config, plugins }, createLog("silent"), clock);
  return {
    url: gateway.address,
    adminToken: ADMIN_TOKEN,
    gateway,
    config,
    mailServer,
    pass(ms) {
      passedMs += ms;
    },
    now: () => clock.now(),
    async close() {
      await gateway.stop();
      await Promise.all([mailServer.stop(), database?.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
