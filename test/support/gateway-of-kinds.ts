import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { Gateway } from "../../core/boot/gateway.ts";
import { formatProblems, loadConfig } from "../../core/config/load.ts";
import type { ImportPlugin } from "../../core/config/plugins.ts";
import type { Call } from "../../core/plugin/call.ts";
import type { Plugin } from "../../core/plugin/plugin.ts";
import type { UpstreamKind } from "../../core/plugin/upstream-kind.ts";
import type { JsonObject } from "../../core/process/json.ts";
import type { AdminTarget } from "./admin.ts";
import { testModel } from "./catalogue.ts";
import { type ConfigChanges, testConfig, writeConfig } from "./gateway-config.ts";
import { copyEmptyLedger } from "./ledger-template.ts";
import { recordedLog } from "./log.ts";
import { migratedDatabase } from "./postgres.ts";

export const PRICE_VND_PER_IMAGE = 500;

/** A gateway in the test's own process, with an upstream kind that only the test has. */
export interface GatewayOfKinds extends AdminTarget {
  readonly port: number;
  readonly logLines: readonly JsonObject[];
  /** Every call so far, in flight or ended. */
  readonly calls: readonly Call[];
  close(): Promise<void>;
}

/** `models`: the upstreams of each model, in the order of attempts. `req/` models make images. */
export async function startGatewayOfKinds(
  kind: UpstreamKind,
  upstreams: JsonObject,
  models: Readonly<Record<string, readonly string[]>>,
  changes: ConfigChanges = {},
): Promise<GatewayOfKinds> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const catalogue = join(folder, "catalogue.yaml");
  writeFileSync(catalogue, stringify({ models: Object.entries(models).map(entryOf) }));
  const file = join(folder, "gateway.yaml");
  const adminToken = "token-of-the-test";
  const database = await migratedDatabase();
  const around = { port: 0, data: folder, ledger: database?.url, simulatorPort: 1, adminToken };
  const config = { ...changes.config, catalogue, upstreams };
  const [any] = Object.keys(models);
  const alias = { default_family: "any", families: { any } };
  const plugins = { alias, ...changes.plugins, [CALLS]: true as const };
  writeConfig(file, testConfig({ config, plugins }, around));
  writeFileSync(join(folder, CALLS), "");
  if (!database) await copyEmptyLedger(folder);
  const calls: Call[] = [];
  const recorder = { default: () => recording(calls), upstreamKind: kind };
  const importPlugin: ImportPlugin = (url) =>
    url.endsWith(CALLS.slice(1)) ? Promise.resolve(recorder) : import(url);
  const loaded = await loadConfig(file, process.env, { importPlugin });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  const { log, lines } = recordedLog();
  const gateway = await Gateway.start(
    loaded.config,
    Object.assign(log, { line() {}, flush() {}, setLevel() {}, lostLines: () => 0 }),
  );
  return {
    url: gateway.address,
    port: Number(new URL(gateway.address).port),
    adminToken,
    logLines: lines,
    calls,
    async close() {
      await gateway.stop();
      await database?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The config needs a file for the plugin that brings the kind and records the calls; it is empty and never loaded. */
const CALLS = "./calls.js";

function recording(calls: Call[]): Plugin {
  return {
    name: "calls",
    request(call) {
      calls.push(call);
      return undefined;
    },
  };
}

function entryOf([id, upstreams]: [string, readonly string[]]): JsonObject {
  const routes = upstreams.map((upstream, priority) => ({
    upstream,
    model: `${id.replace("req/", "")}-${priority}`,
    priority,
  }));
  return id.startsWith("req/")
    ? { id, standard: "images", price_vnd_per_call: PRICE_VND_PER_IMAGE, routes }
    : testModel(id, routes);
}
