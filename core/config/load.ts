import { dirname, isAbsolute, join } from "node:path";
import type { Catalogue } from "../contract/catalogue.ts";
import type { Config, LoadedPlugin } from "../contract/config.ts";
import { arrayOf, objectOf } from "../process/json.ts";
import { readCatalogue, type UpstreamProtocols } from "./catalogue-review.ts";
import type { Environment } from "./environment.ts";
import { type ImportPlugin, loadPlugins } from "./plugins.ts";
import { type Problem, Problems } from "./problem.ts";
import {
  catalogue as catalogueKey,
  type GatewayFile,
  gatewayFile,
  protocols as protocolsKey,
} from "./schema.ts";
import { reviewSettings } from "./settings-review.ts";
import { attempt, validate } from "./validate.ts";
import { readYaml, type Source } from "./yaml.ts";

export type { Environment } from "./environment.ts";
export { formatProblems } from "./problem.ts";

type LoadedConfig =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads the config file, its catalogue and its plugins, and checks all of them before it answers, so that
 * an operator sees every fault at once. Never throws, and never tells the value of a variable.
 */
export async function loadConfig(
  file: string,
  environment: Environment,
  { importPlugin }: { importPlugin?: ImportPlugin } = {},
): Promise<LoadedConfig> {
  const problems = new Problems();
  const source = await readYaml(file, environment, problems);
  if (!source) return { ok: false, problems: problems.list() };

  const settings = validate(gatewayFile, source.value, source, [], problems);
  const written = objectOf(source.value) ?? {};
  reviewSettings(written, source, problems);
  const plugins = await loadPlugins(arrayOf(written["plugins"]), source, problems, importPlugin);
  const catalogue = await loadCatalogue(written, source, environment, problems);

  if (problems.found || !settings || !catalogue) return { ok: false, problems: problems.list() };
  return { ok: true, config: toConfig(settings, catalogue, plugins) };
}

async function loadCatalogue(
  written: Readonly<Record<string, unknown>>,
  source: Source,
  environment: Environment,
  problems: Problems,
): Promise<Catalogue | undefined> {
  const path = attempt(catalogueKey, written["catalogue"]);
  if (path === undefined) return undefined;
  const file = isAbsolute(path) ? path : join(dirname(source.file), path);
  const catalogue = await readYaml(file, environment, problems);
  return catalogue && readCatalogue(catalogue, protocolsByUpstream(written), problems);
}

function protocolsByUpstream(written: Readonly<Record<string, unknown>>): UpstreamProtocols {
  return new Map(
    Object.entries(objectOf(written["upstreams"]) ?? {}).map(([name, upstream]) => {
      const protocols = attempt(protocolsKey, objectOf(upstream)?.["protocols"]);
      return [name, protocols && new Set(Object.keys(protocols))];
    }),
  );
}

function toConfig(
  settings: GatewayFile,
  catalogue: Catalogue,
  plugins: readonly LoadedPlugin[],
): Config {
  const { listen, admin, stores, limits, log, headers, upstreams } = settings;
  return {
    listen,
    admin: { token: admin.token },
    stores,
    limits: {
      bodyBytesMax: limits.body_mb * MB,
      headerBytesMax: limits.header_kb * 1024,
      replyBytesMax: limits.reply_mb * MB,
      callsMax: limits.calls_max,
      callMs: limits.call_seconds * 1000,
      connectMs: limits.connect_seconds * 1000,
      idleMs: (limits.idle_seconds ?? limits.call_seconds) * 1000,
      drainMs: limits.drain_seconds * 1000,
    },
    log,
    headers,
    upstreams: Object.fromEntries(
      Object.entries(upstreams).map(([name, { connections, ...upstream }]) => [
        name,
        // A call has at most one connection, so more than `calls_max` are never needed.
        { ...upstream, connections: connections ?? limits.calls_max },
      ]),
    ),
    catalogue,
    plugins,
  };
}

const MB = 1024 * 1024;
