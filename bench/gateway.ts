import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { isObject, type JsonObject } from "../core/process/json.ts";
import { packageRoot } from "../core/process/root.ts";
import { freePort } from "../test/support/free-port.ts";
import { type Child, type Children, untilReady } from "./children.ts";
import { nodeOptionsOf, type Options } from "./scenario.ts";
import { built, PROXY_CORE, type Target } from "./targets.ts";

/**
 * Plugins of the shipped config that would distort a measurement. The simulator runs in its own
 * process.
 */
const LEFT_OUT = new Set(["simulator", "demo"]);

export const ADMIN_TOKEN = "benchmark-admin-token";

/** A credit that is enough for any run, and below the maximum balance of a wallet. */
const CREDIT_VND = "5000000000";

export interface GatewayOptions {
  readonly upstreamPort: number;
  /** URLs of Redis and Postgres. Without them the stores are embedded. */
  readonly stores?: {
    readonly hot: string;
    readonly ledger: string;
    readonly connections?: number;
  };
  /** Options for Node, such as those of its profiler. */
  readonly nodeOptions?: readonly string[];
  /** The folder of another build, whose config is beside it. */
  readonly built?: string;
  /** The core it runs on. Default: that of the proxy. */
  readonly core?: number;
}

export interface Gateway extends Target {
  /** Makes another key of the same account; returns the headers that authenticate its calls. */
  newKey(limits?: JsonObject): Promise<Readonly<Record<string, string>>>;
  /**
   * Rejects if the accounts do not reconcile to the µđ. Results of a proxy that charges wrongly are
   * void.
   */
  reconcile(): Promise<void>;
}

/**
 * Starts the gateway in a temporary folder with the shipped config, without the plugins in
 * `LEFT_OUT`.
 */
export async function startGateway(children: Children, options: GatewayOptions): Promise<Gateway> {
  const port = await freePort();
  const folder = children.folder("gateway");
  const file = join(folder, "gateway.yaml");
  writeFileSync(file, stringify(configOf(folder, port, options)));
  const program = join(options.built ?? built, "core", "main.js");
  const child = children.start("gateway", {
    command: process.execPath,
    args: [...startOptions(), ...(options.nodeOptions ?? []), program, "--config", file],
    core: options.core ?? PROXY_CORE,
  });
  await untilReady("the gateway", child, () => isReady(port));
  const accountId = await newAccount(port, child);
  const newKey = async (limits?: JsonObject) => {
    const path = `/accounts/${accountId}/keys`;
    // An earlier build refuses fields that it does not know.
    const { key } = await admin(port, "POST", path, { name: "bench", ...(limits && { limits }) });
    return { authorization: `Bearer ${key}` };
  };
  const headers = await newKey();
  return {
    name: "gateway",
    port,
    pid: child.pid,
    headers,
    newKey,
    end: () => child.end(),
    async reconcile() {
      const { drift } = await admin(port, "GET", "/reconcile");
      if (drift !== false) throw new Error("the gateway's accounts do not reconcile");
    },
  };
}

/** A connection alone proves nothing: before it starts, the gateway opens its port for a moment to see if it is free. */
function isReady(port: number): Promise<boolean> {
  const reply = fetch(`http://127.0.0.1:${port}/readyz`);
  return reply.then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Starts the gateway of this build, and before it the one of another build if the options name it. */
export async function startGateways(
  children: Children,
  upstreamPort: number,
  options: Options,
): Promise<[label: string, Gateway][]> {
  const { against } = options;
  const gateways: [string, Gateway][] = [];
  if (against !== undefined) {
    gateways.push(["before", await startGateway(children, { upstreamPort, built: against })]);
  }
  const nodeOptions = nodeOptionsOf(options);
  gateways.push(["gateway", await startGateway(children, { upstreamPort, nodeOptions })]);
  return gateways;
}

/** Returns the Node options of `npm start`. */
function startOptions(): string[] {
  const manifest: { scripts: { start: string } } = JSON.parse(
    readFileSync(join(packageRoot, "package.json"), "utf8"),
  );
  return manifest.scripts.start.split(" ").filter((word) => word.startsWith("--"));
}

/**
 * Returns the shipped config with all data in `folder` and all upstreams replaced by the
 * benchmark's.
 */
function configOf(folder: string, port: number, options: GatewayOptions): JsonObject {
  const shipped = join(options.built ?? built, "..", "config");
  const config: JsonObject = parse(readFileSync(join(shipped, "gateway.yaml"), "utf8"));
  const { upstreamPort, stores = { hot: "embedded", ledger: "embedded" } } = options;
  const base = `http://127.0.0.1:${upstreamPort}`;
  const others = `${base}/v1`;
  const protocols = {
    messages: base,
    chat: others,
    responses: others,
    images: others,
    speech: others,
  };
  const upstreams: JsonObject = {};
  for (const name in isObject(config["upstreams"]) ? config["upstreams"] : {}) {
    upstreams[name] = { protocols, keys: ["bench"] };
  }
  const plugins = Array.isArray(config["plugins"]) ? config["plugins"] : [];
  return {
    ...config,
    listen: { host: "127.0.0.1", port },
    admin: { token: ADMIN_TOKEN },
    stores: { ...stores, data: join(folder, "data") },
    catalogue: join(shipped, "catalogue.yaml"),
    upstreams,
    plugins: plugins
      .filter((entry) => !LEFT_OUT.has(nameOf(entry)))
      // Its file of costs is beside the shipped config.
      .map((entry) => (nameOf(entry) === "report" ? "report" : entry)),
  };
}

function nameOf(entry: unknown): string {
  return isObject(entry) ? (Object.keys(entry)[0] ?? "") : String(entry);
}

/** Makes an account with a balance; returns its id. */
async function newAccount(port: number, child: Child): Promise<string> {
  const { id } = await admin(port, "POST", "/accounts", { email: `bench-${port}@example.com` });
  await untilReady("a credit", child, () => isCredited(port, String(id)));
  return String(id);
}

/**
 * Returns false while Redis does not reply, as on a machine with more gateways than it can run. A credit counts once,
 * even if it is sent again.
 */
async function isCredited(port: number, accountId: string): Promise<boolean> {
  const credit = { amount_vnd: CREDIT_VND, reference: `bench-${port}` };
  try {
    await admin(port, "POST", `/accounts/${accountId}/credits`, credit);
    return true;
  } catch (error) {
    if (/HTTP 503/.test(String(error))) return false;
    throw error;
  }
}

/** Sends one request to the admin API; `path` is below `/admin/v1`. Throws unless the status is 2xx. */
export async function admin(
  port: number,
  method: string,
  path: string,
  body?: object,
): Promise<JsonObject> {
  const response = await fetch(`http://127.0.0.1:${port}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  if (!response.ok || !isObject(answer)) {
    throw new Error(`admin ${method} ${path}: HTTP ${response.status} ${JSON.stringify(answer)}`);
  }
  return answer;
}
