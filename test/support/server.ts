import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallerKey } from "../../core/accounts/account.ts";
import { BodyBudget } from "../../core/body/receive.ts";
import { Catalogue } from "../../core/catalogue/catalogue.ts";
import { endpoints } from "../../core/catalogue/endpoint.ts";
import { NO_FACTORS } from "../../core/catalogue/price-factors.ts";
import { type GatewayConfig, loadConfig } from "../../core/config/load.ts";
import { Cors } from "../../core/http/cors.ts";
import { requiredFields } from "../../core/http/default-steps.ts";
import { Pipeline } from "../../core/http/pipeline.ts";
import { Server } from "../../core/http/server.ts";
import { UnreadReplies } from "../../core/http/unread-replies.ts";
import { openListener } from "../../core/listener/index.ts";
import { Tariff } from "../../core/money/tariff.ts";
import type { Call, EndedCall } from "../../core/plugin/call.ts";
import type { Config } from "../../core/plugin/config.ts";
import type { Plugin } from "../../core/plugin/plugin.ts";
import { Router } from "../../core/plugin/router.ts";
import { TrustedProxies } from "../../core/process/client-address.ts";
import { systemClock } from "../../core/process/clock.ts";
import type { JsonObject } from "../../core/process/json.ts";
import { ConnectedUpstreams } from "../../core/upstream/upstreams.ts";
import type { Refusal } from "../../core/wire/refusal.ts";
import { Usage } from "../../core/wire/usage/usage.ts";
import { testConfig, writeConfig } from "./gateway-config.ts";
import { recordedLog } from "./log.ts";

/** The call path alone, in this process: the server and an upstream, with a test's plugins. */
export interface BareServer {
  readonly port: number;
  readonly server: Server;
  readonly upstreams: ConnectedUpstreams;
  readonly unread: UnreadReplies;
  /** The lines of the log. */
  readonly logged: readonly JsonObject[];
  /** Ended calls, in the order in which they were reported. */
  readonly ended: readonly EndedCall[];
  close(): Promise<void>;
}

/** The header by which a test identifies its calls; the upstream receives it too. */
export const RUN = "x-run";

export async function startServer(
  plugins: readonly Plugin[],
  upstream: RequestListener,
  refusal: () => Refusal | undefined = () => undefined,
  engine: Config["listen"]["engine"] = "auto",
): Promise<BareServer> {
  const provider = createServer(upstream);
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  const address = provider.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  const config = await shippedConfig(address.port);
  const { log, lines } = recordedLog();
  const upstreams = new ConnectedUpstreams(config, systemClock, log);
  const router = new Router();
  for (const endpoint of endpoints) {
    router.addRoute({ method: "POST", path: endpoint.path, access: "call", endpoint });
  }
  const pipeline = new Pipeline([...plugins, serving(config)]);
  const { limits } = config;
  const ended: EndedCall[] = [];
  const { headerBytesMax } = limits;
  const unread = new UnreadReplies(limits.unreadBytesMax, log);
  const server = new Server({
    listener: await openListener({ engine, headerBytesMax }),
    operatorListener: undefined,
    clock: systemClock,
    log,
    refusal,
    onEnded: (call) => ended.push(call),
  });
  server.runtime = {
    pipeline,
    router,
    operatorRouter: undefined,
    upstreams,
    clock: systemClock,
    log,
    limits,
    proxies: new TrustedProxies([]),
    cors: new Cors([]),
    bodies: new BodyBudget(limits, systemClock),
    unread,
    required: requiredFields(config),
  };
  return {
    port: await server.listen("127.0.0.1", 0),
    server,
    upstreams,
    unread,
    logged: lines,
    ended,
    async close() {
      server.close();
      await upstreams.close();
      provider.close();
      provider.closeAllConnections();
    },
  };
}

async function shippedConfig(simulatorPort: number): Promise<GatewayConfig> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const file = join(folder, "gateway.yaml");
  const around = { port: 0, data: folder, simulatorPort, adminToken: "token" };
  writeConfig(file, testConfig({}, around));
  const loaded = await loadConfig(file, process.env);
  rmSync(folder, { recursive: true, force: true });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

/** Sets what auth, alias, translate, meter and settle would set, for one free model. */
function serving({ catalogue }: GatewayConfig): Plugin {
  const key = { id: "key", accountId: "account" } as CallerKey;
  return {
    name: "serving",
    admit(call) {
      call.key ??= key;
      return undefined;
    },
    request(call) {
      const model = catalogue.models.find(({ standard }) => standard === "chat");
      const { protocol, upstreamPath } = call.endpoint;
      call.model = model;
      call.upstream = {
        protocol,
        path: upstreamPath,
        body: call.body,
        form: undefined,
        headers: [RUN, runOf(call)],
        bodyFor: undefined,
        prepare: undefined,
        outputLimit: undefined,
        wantsUsage: false,
      };
      call.usage = new Usage();
      const tariff = new Tariff({
        unit: "mtok",
        microVnd: 1,
        factors: NO_FACTORS,
        discountBps: 0,
        discounts: {},
        catalogueVersion: "",
      });
      call.held = {
        ...{ tariff, catalogue: new Catalogue([]), baseQuantity: 0, feesMicroVnd: 0 },
        ...{ outputTokens: 0, outputTokensMax: 0 },
      };
      return undefined;
    },
  };
}

export const runOf = ({ headers }: Call): string => headers[RUN] ?? "";
