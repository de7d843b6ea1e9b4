import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { isObject, type JsonObject } from "../../core/process/json.ts";
import { packageRoot } from "../../core/process/root.ts";
import { catalogueOfTests } from "./catalogue.ts";

/** A plugin as written in a config, with or without options. */
export type PluginEntry = string | Readonly<Record<string, unknown>>;

/** Changes of a test to the shipped `config/gateway.yaml`. */
export interface ConfigChanges {
  /** Merged into the config, mapping by mapping; other values replace, and `undefined` removes. */
  readonly config?: JsonObject | undefined;
  /** Options by plugin name; a plugin that is not in the list is appended. `false` removes one. */
  readonly plugins?: Readonly<Record<string, JsonObject | true | false>> | undefined;
}

/** The parts of a test's gateway that the config names. */
export interface Surroundings {
  readonly port: number;
  readonly data: string;
  /** Default: an embedded ledger, as in the shipped config. */
  readonly ledger?: string | undefined;
  readonly simulatorPort: number;
  readonly adminToken: string;
}

/**
 * The key that seals customers' keys. A gateway creates one itself only beside an embedded ledger.
 */
const MASTER_KEYS = [{ id: "of-the-tests", key: Buffer.alloc(32, 7).toString("base64") }];

/**
 * By default a call of a model that reasons goes on for a minute after its client has left. Tests
 * wait for the ends of such calls.
 */
const SHORT_LINGER = { linger_reasoning_seconds: 2 };

/** The simulator runs in its own process, and tests need no demo account. */
const LEFT_OUT = new Set(["simulator", "demo"]);

let shippedJson: string | undefined;

/**
 * The shipped default config, moved to other ports and another folder, with a smaller catalogue and a
 * test's changes. Tests run the shipped config, so that a broken default fails them.
 */
export function testConfig(changes: ConfigChanges, around: Surroundings): JsonObject {
  const file = join(packageRoot, "config", "gateway.yaml");
  shippedJson ??= JSON.stringify(parse(readFileSync(file, "utf8"), { merge: true }));
  const shipped: unknown = JSON.parse(
    shippedJson.replaceAll("127.0.0.1:9001", `127.0.0.1:${around.simulatorPort}`),
  );
  if (!isObject(shipped)) throw new Error(`${file} is not a mapping`);
  const { ledger = "embedded" } = around;
  const plugins = changes.plugins ?? {};
  const config = merged(shipped, {
    listen: { host: "127.0.0.1", port: around.port },
    admin: { token: around.adminToken },
    stores: { data: around.data, ledger },
    limits: { drain_seconds: 5 },
    catalogue: catalogueOfTests(),
    plugins: pluginList(
      shipped["plugins"],
      ledger === "embedded" ? plugins : withMasterKeys(plugins),
    ),
  });
  return merged(config, changes.config ?? {});
}

/** Writes the config file that `--config` names: as JSON on one line, which a gateway reads without the YAML parser. */
export function writeConfig(file: string, config: JsonObject): void {
  writeFileSync(file, JSON.stringify(config));
}

function merged(base: JsonObject, changes: JsonObject): JsonObject {
  const result: JsonObject = { ...base };
  for (const [key, change] of Object.entries(changes)) {
    const before = result[key];
    if (change === undefined) delete result[key];
    else if (isObject(change) && isObject(before)) result[key] = merged(before, change);
    else result[key] = change;
  }
  return result;
}

function withMasterKeys(plugins: NonNullable<ConfigChanges["plugins"]>) {
  const { accounts = {} } = plugins;
  if (accounts === false) return plugins;
  return {
    ...plugins,
    accounts: { master_keys: MASTER_KEYS, ...(accounts === true ? {} : accounts) },
  };
}

function pluginList(shipped: unknown, changes: NonNullable<ConfigChanges["plugins"]>): unknown[] {
  const entries = Array.isArray(shipped) ? shipped : [];
  const names = entries.map(nameOf);
  const list = entries
    .filter((_, at) => !LEFT_OUT.has(names[at] ?? ""))
    .map((entry) => {
      const name = nameOf(entry);
      if (name === "settle") return { settle: { ...SHORT_LINGER, ...optionsOf(entry) } };
      // Its file of costs is beside the shipped config.
      return name === "report" ? name : entry;
    });
  // These serve the customers of `accounts`, which also seals the second factors of operators.
  const all = {
    ...(changes["accounts"] === false && {
      ...{ statements: false, teams: false, vouchers: false, operators: false },
    }),
    ...(changes["admin"] === false && { operators: false }),
    ...changes,
  } as typeof changes;
  for (const [name, change] of Object.entries(all)) {
    const at = list.findIndex((entry) => nameOf(entry) === name);
    const entry = change === true ? name : { [name]: change };
    if (change === false) list.splice(at, at < 0 ? 0 : 1);
    else if (at < 0) list.push(entry);
    else if (change !== true) list[at] = { [name]: { ...optionsOf(list[at]), ...change } };
  }
  return list;
}

function nameOf(entry: unknown): string {
  return isObject(entry) ? (Object.keys(entry)[0] ?? "") : String(entry);
}

function optionsOf(entry: unknown): JsonObject {
  const options = isObject(entry) ? Object.values(entry)[0] : undefined;
  return isObject(options) ? options : {};
}
