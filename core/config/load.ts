import type * as v from "valibot";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { ProxyVariables } from "../plugin/config.ts";
import type { ConfigWithPlugins } from "../plugin/plugin.ts";
import type { LoadedUpstream } from "../plugin/upstream-kind.ts";
import { arrayOf, type JsonObject, objectOf } from "../process/json.ts";
import type { UpstreamKinds } from "../upstream/kinds/index.ts";
import { catalogueOf } from "./catalogue-review.ts";
import { configVersion } from "./config-version.ts";
import type { Environment } from "./environment.ts";
import {
  type ImportPlugin,
  loadPlugins,
  type PlacedPlugin,
  reviewOptions,
  withKindsOf,
} from "./plugins.ts";
import { type Problem, Problems } from "./problem.ts";
import { readCatalogue } from "./read-catalogue.ts";
import { readSource } from "./read-source.ts";
import { reviewConfig } from "./review.ts";
import { catalogue as catalogueKey, gatewayFile } from "./schema.ts";
import { settingSources } from "./setting-sources.ts";
import type { Source } from "./source.ts";
import { protocolsWritten, upstreamsSchema } from "./upstream-schema.ts";
import { attempt, validate } from "./validate.ts";

export type { Environment } from "./environment.ts";
export { formatProblems } from "./problem.ts";

/** The checked config. Plugins see only its `Config` part, which has no provider keys. */
export interface GatewayConfig extends ConfigWithPlugins {
  readonly proxies: ProxyVariables;
  readonly upstreams: Readonly<Record<string, LoadedUpstream>>;
}

type LoadedConfig =
  | { readonly ok: true; readonly config: GatewayConfig }
  | { readonly ok: false; readonly problems: readonly Problem[] };

interface LoadOptions {
  readonly importPlugin?: ImportPlugin;
  /** Leaves this thread to the calls that it serves. */
  readonly isServing?: boolean;
}

/**
 * Reads and checks the config file, its catalogue and its plugins. Reports all errors at once; never throws, and
 * never prints a variable's value.
 */
export async function loadConfig(
  file: string,
  environment: Environment,
  { importPlugin, isServing = false }: LoadOptions = {},
): Promise<LoadedConfig> {
  const problems = new Problems();
  const source = await readSource(file, environment, problems, isServing);
  if (!source) return { ok: false, problems: problems.list() };

  const written = objectOf(source.value) ?? {};
  const entries = arrayOf(written["plugins"]);
  const placed = await loadPlugins(entries, source, importPlugin);
  const kinds = withKindsOf(placed, source);
  const settings = validate(gatewayFile(upstreamsSchema(kinds)), source.value, source, []);
  reviewConfig(source, placed, placed.length === entries.length);
  const catalogue = await loadCatalogue(written, kinds, source, isServing);

  if (!settings || !catalogue) return { ok: false, problems: problems.list() };
  const config = toConfig(settings, catalogue, placed, source);
  if (Object.keys(config.upstreams).length === 0) {
    const message = "expected a key of at least one upstream; without one, no model can be called";
    source.report(["upstreams"], message);
  }
  reviewOptions(placed, config, source);
  return problems.found ? { ok: false, problems: problems.list() } : { ok: true, config };
}

async function loadCatalogue(
  written: JsonObject,
  kinds: UpstreamKinds,
  source: Source,
  isServing: boolean,
): Promise<Catalogue | undefined> {
  const path = attempt(catalogueKey, written["catalogue"]);
  if (path === undefined) return undefined;
  const given = Object.entries(objectOf(written["upstreams"]) ?? {});
  const upstreams = new Map(given.map(([name, one]) => [name, protocolsWritten(one, kinds)]));
  const { environment, problems } = source;
  const read = await readCatalogue(
    { path: source.beside(path), environment, upstreams },
    isServing,
  );
  problems.addAll(read.problems);
  return read.checked && catalogueOf(read.checked);
}

type GatewayFile = v.InferOutput<
  ReturnType<typeof gatewayFile<ReturnType<typeof upstreamsSchema>>>
>;

function toConfig(
  settings: GatewayFile,
  catalogue: Catalogue,
  placed: readonly PlacedPlugin[],
  source: Source,
): GatewayConfig {
  const { environment } = source;
  const { listen, admin, limits, log, headers, images, upstreams, unbilled } = settings;
  const { months_kept: monthsKept, ...stores } = settings.stores;
  const { host, port, workers, engine, trusted_proxies: trustedProxies } = listen;
  const used = Object.fromEntries(
    Object.entries(upstreams)
      .filter(([, { isConfigured }]) => isConfigured)
      .map(([name, { connections, isConfigured: _, ...upstream }]) => [
        name,
        // A call uses at most one connection, so `calls_max` is enough.
        { ...upstream, connections: connections ?? limits.calls_max },
      ]),
  );
  return {
    listen: { host, port, workers, engine, trustedProxies },
    admin: { token: admin.token, listen: admin.listen },
    stores: { ...stores, monthsKept },
    limits: {
      bodyBytesMax: limits.body_mb * MB,
      bodiesBytesMax: limits.bodies_mb * MB,
      headerBytesMax: limits.header_kb * 1024,
      keyCacheBytesMax: limits.key_cache_mb * MB,
      replyBytesMax: limits.reply_mb * MB,
      unreadBytesMax: limits.unread_mb * MB,
      callsMax: limits.calls_max,
      leftCallsMax: limits.left_calls_max,
      callMs: limits.call_seconds * 1000,
      connectMs: limits.connect_seconds * 1000,
      firstByteMs: (limits.first_byte_seconds ?? limits.call_seconds) * 1000,
      idleMs: (limits.idle_seconds ?? limits.call_seconds) * 1000,
      heartbeatMs: limits.heartbeat_seconds * 1000 || Number.POSITIVE_INFINITY,
      drainMs: limits.drain_seconds * 1000,
      handoverMs: limits.handover_seconds * 1000,
      clockDifferenceMs: limits.clock_difference_seconds * 1000,
    },
    log,
    headers: { prefix: headers.prefix, corsOrigins: headers.cors_origins },
    images: { privateAddresses: images.private_addresses, nameServers: images.name_servers },
    upstreams: used,
    // Either case, as other programs take them.
    proxies: {
      httpsProxy: environment["HTTPS_PROXY"] ?? environment["https_proxy"],
      noProxy: environment["NO_PROXY"] ?? environment["no_proxy"],
    },
    catalogue: catalogue.offeredBy(new Set(Object.keys(used))),
    unbilled,
    plugins: placed.map(({ loaded }) => loaded),
    version: configVersion([source, ...placed.flatMap(({ files }) => files)], Object.keys(used)),
    sources: settingSources(source),
  };
}

const MB = 1024 * 1024;
