import postgres from "postgres";
import { startGateway } from "../support/gateway.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import {
  type Actor,
  type GatewayActor,
  gatewayActor,
  type Link,
  type PostgresActor,
  startPostgresActor,
  startSimulatorActor,
} from "./actors.ts";
import { type Builds, noWayBack } from "./builds.ts";
import { type RedisStage, type RedisStageOptions, startRedisStage } from "./redis-stage.ts";
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts";
import { Snapshots } from "./snapshots.ts";

/** Small, so that a stream of a few hundred tokens extends its hold several times. */
const SLICE_TOKENS = 64;

/** All servers, with a proxy on every connection between them. */
export interface Stage {
  readonly gateways: readonly GatewayActor[];
  readonly redis: RedisStage;
  readonly postgres: PostgresActor;
  readonly simulator: Actor;
  readonly links: readonly Link[];
  /** Of the only Redis; undefined for a cluster. */
  readonly snapshots: Snapshots | undefined;
  readonly postgresUrl: string;
  /** Why the gateways' disks cannot be filled; undefined if they can. */
  readonly noDisks: string | undefined;
  /** The versions of the gateways in a run with two. */
  readonly builds: Builds | undefined;
  /** Why the older version does not start after the newer one; undefined if it does. */
  readonly noWayBack: string | undefined;
  close(): Promise<void>;
}

export interface StageOptions extends RedisStageOptions {
  readonly gateways: number;
  readonly builds: Builds | undefined;
  /**
   * True for a run of less than a minute: a stop must not take long, and of two versions the second
   * gateway begins with the newer.
   */
  readonly isShort: boolean;
}

export async function buildStage({
  gateways: count,
  builds,
  isShort,
  ...options
}: StageOptions): Promise<Stage> {
  const [ledger, redis, simulator] = await Promise.all([
    startPostgresActor(),
    startRedisStage(options),
    startSimulatorActor(),
  ]);
  const wayBack = builds && !builds.hasWayBack ? await triedWayBack(builds, ledger.url) : undefined;
  const links: Link[] = [];
  const link = async (name: string, url: string) => {
    const proxy = await startTcpProxy(Number(new URL(url).port));
    links.push({ name, proxy });
    return proxy.port;
  };
  const gateways: GatewayActor[] = [];
  const disks: SmallDisk[] = [];
  let noDisks: string | undefined;
  for (let at = 0; at < count; at += 1) {
    const name = `gateway ${at}`;
    const disk = mountSmallDisk();
    if (typeof disk === "string") noDisks = disk;
    else disks.push(disk);
    const database = await link(`${name} - postgres`, ledger.url);
    const provider = await link(`${name} - simulator`, simulator.url);
    const version = builds && !(isShort && at === 1) ? "older" : "newer";
    const gateway = await startGateway({
      ...(builds && { root: builds[version].root }),
      simulator: { ...NO_SIMULATOR, port: provider },
      ...(typeof disk !== "string" && { data: disk.folder }),
      config: {
        stores: {
          hot: await redis.serversFor(name),
          ledger: `postgres://postgres@127.0.0.1:${database}/postgres`,
        },
        limits: { idle_seconds: 15, connect_seconds: 2, ...(isShort && { drain_seconds: 2 }) },
      },
      plugins: { settle: { slice_tokens: SLICE_TOKENS } },
    });
    const own = typeof disk === "string" ? undefined : disk;
    const mustUpgrade = () =>
      wayBack !== undefined && gateways.some((actor) => actor.version === "newer");
    gateways.push(gatewayActor(gateway, at, { disk: own, builds, version, mustUpgrade }));
  }
  const [onlyRedis] = redis.nodes;
  return {
    gateways,
    redis,
    postgres: ledger,
    simulator,
    links: [...links, ...redis.links],
    snapshots: redis.mode === "single" && onlyRedis ? new Snapshots(onlyRedis.server) : undefined,
    postgresUrl: ledger.url,
    noDisks,
    builds,
    noWayBack: wayBack,
    async close() {
      await Promise.all(gateways.map(({ gateway }) => gateway.close()));
      await Promise.all(links.map(({ proxy }) => proxy.close()));
      await Promise.all([simulator.close(), redis.close(), ledger.close()]);
      for (const disk of disks) disk.close();
    },
  };
}

/** Tries the way back in a database of its own. */
async function triedWayBack(builds: Builds, server: string): Promise<string | undefined> {
  const sql = postgres(server, { max: 1 });
  await sql`create database way_back`;
  try {
    const url = new URL(server);
    url.pathname = "/way_back";
    return await noWayBack(builds, url.href);
  } finally {
    await sql`drop database way_back with (force)`;
    await sql.end();
  }
}

/** The simulator is an actor of its own; gateways need only its port. */
const NO_SIMULATOR = {
  url: "",
  stats: async () => ({}),
  reset: async () => {},
  release: async () => {},
  stop: async () => {},
};
