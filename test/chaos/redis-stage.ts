import { setTimeout as delay } from "node:timers/promises";
import { type RedisServer, startRedisCluster, startRedisServer } from "../support/redis.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { type Actor, actorOf, type Link } from "./actors.ts";

export type Mode = "single" | "cluster";

const REPLY_TIMEOUT_MS = 2_000;

/** One server of the hold store. */
export interface RedisNode extends Actor {
  readonly server: RedisServer;
}

/** The hold store of the gateways: one Redis, or a cluster of three primaries with a replica each. */
export interface RedisStage {
  readonly mode: Mode;
  readonly nodes: readonly RedisNode[];
  readonly links: readonly Link[];
  /** As `stores.hot` takes it. Call it once per gateway. */
  serversFor(gateway: string): Promise<string | readonly string[]>;
  /** The primaries among the nodes that run. */
  primaries(): Promise<RedisNode[]>;
  /** The node behind the address that the cluster announces. */
  announced(port: number): RedisNode | undefined;
  /** True if every node runs and every slot is served by the same number of copies as at the start. */
  isWhole(): Promise<boolean>;
  close(): Promise<void>;
}

export interface RedisStageOptions {
  readonly mode: Mode;
  readonly appendFsync: "always" | "everysec";
}

export function startRedisStage(options: RedisStageOptions): Promise<RedisStage> {
  const { mode, appendFsync } = options;
  const settings = ["--save", "", "--appendonly", "yes", "--appendfsync", appendFsync];
  return mode === "cluster" ? startCluster(settings) : startSingle(settings);
}

async function startSingle(settings: readonly string[]): Promise<RedisStage> {
  const server = await startRedisServer({ settings });
  const node = nodeOf("redis", server);
  const links: Link[] = [];
  return {
    mode: "single",
    nodes: [node],
    links,
    async serversFor(gateway) {
      const proxy = await startTcpProxy(server.port);
      links.push({ name: `${gateway} - redis`, proxy });
      return `redis://127.0.0.1:${proxy.port}`;
    },
    primaries: async () => (node.isUp ? [node] : []),
    announced: () => undefined,
    isWhole: async () => node.isUp && (await asked(node, "PING")) === "PONG",
    async close() {
      await Promise.all(links.map(({ proxy }) => proxy.close()));
      await server.stop();
    },
  };
}

/** Clients, gateways and replicas reach each node through a proxy, whose port the node announces. */
async function startCluster(settings: readonly string[]): Promise<RedisStage> {
  const proxies = new Map<RedisServer, TcpProxy>();
  const cluster = await startRedisCluster({
    replicas: true,
    async start() {
      const proxy = await startTcpProxy(0);
      const announce = ["--cluster-announce-port", `${proxy.port}`];
      const server = await startRedisServer({
        cluster: true,
        settings: [...settings, ...announce],
      });
      proxy.lead(server.port);
      proxies.set(server, proxy);
      return server;
    },
  });
  const servers = [...cluster.nodes, ...cluster.replicas];
  const nodes = servers.map((server, at) => nodeOf(`redis ${at}`, server));
  const ports = servers.map((server) => proxies.get(server)?.port);
  const links: Link[] = nodes.flatMap((node, at) => {
    const proxy = proxies.get(servers[at]!);
    return proxy ? [{ name: `all - ${node.name}`, proxy }] : [];
  });
  const withRole = async (role: string) => {
    const roles = await Promise.all(nodes.map((node) => roleOf(node)));
    return nodes.filter((_, at) => roles[at]?.[0] === role);
  };
  return {
    mode: "cluster",
    nodes,
    links,
    serversFor: async () => ports.map((port) => `redis://127.0.0.1:${port}`),
    primaries: () => withRole("master"),
    announced: (port) => nodes[ports.indexOf(port)],
    async isWhole() {
      const states = await Promise.all(nodes.map((node) => asked(node, "CLUSTER", "INFO")));
      if (!states.every((state) => `${state}`.includes("cluster_state:ok"))) return false;
      return (await withRole("master")).length === cluster.nodes.length;
    },
    async close() {
      await Promise.all(links.map(({ proxy }) => proxy.close()));
      await cluster.stop();
    },
  };
}

function nodeOf(name: string, server: RedisServer): RedisNode {
  return Object.assign(
    actorOf(name, "redis", {
      kill: () => server.kill(),
      start: () => server.start(),
      signal: (signal) => server.signal(signal),
    }),
    { server },
  );
}

/** The reply to `ROLE`; undefined if the node is down or silent. */
export async function roleOf(node: RedisNode): Promise<readonly unknown[] | undefined> {
  const reply = await asked(node, "ROLE");
  return Array.isArray(reply) ? reply : undefined;
}

/** A reply, or undefined if the node is down, silent or refuses. */
export async function asked(node: RedisNode, name: string, ...args: string[]): Promise<unknown> {
  if (!node.isUp) return undefined;
  const late = delay(REPLY_TIMEOUT_MS, undefined, { ref: false });
  return Promise.race([node.server.call(name, ...args).catch(() => undefined), late]);
}
