import { startGateway, type TestGateway } from "./gateway.ts";
import type { ConfigChanges } from "./gateway-config.ts";
import { migratedDatabase, startPostgres, type TestPostgres } from "./postgres.ts";
import { type RedisServer, startRedisServer } from "./redis.ts";
import { startTestSimulator, type TestSimulator } from "./simulator.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

/** Gateways as in production: processes that share one Redis, one Postgres and one provider. */
export interface Production {
  readonly redis: RedisServer;
  /** The proxy between the gateways and Redis, if requested. */
  readonly redisLine: TcpProxy | undefined;
  readonly postgres: TestPostgres;
  readonly simulator: TestSimulator;
  readonly gateways: readonly TestGateway[];
  close(): Promise<void>;
}

/** The settings of `config/deploy/redis.conf` that protect money. */
const REDIS_SETTINGS = [
  ...["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"],
  ...["--maxmemory-policy", "noeviction"],
];

interface ProductionOptions {
  readonly gateways?: number;
  readonly redisLine?: boolean;
  /** A server of the test, which may kill or freeze it. Default: a database on the server of the run. */
  readonly postgres?: TestPostgres;
}

/** Starts all of them. Redis is for this test only, which may kill or freeze it. */
export async function startProduction(
  changes: ConfigChanges = {},
  { gateways: count = 2, redisLine: hasLine = false, postgres: given }: ProductionOptions = {},
): Promise<Production> {
  const [redis, postgres, simulator] = await Promise.all([
    startRedisServer({ settings: REDIS_SETTINGS }),
    given ?? migratedDatabase().then((database) => database ?? startPostgres()),
    startTestSimulator(),
  ]);
  // The proxy runs in the test's process and slows down when the test is busy, so only tests that
  // need it get it.
  const redisLine = hasLine ? await startTcpProxy(redis.port) : undefined;
  const stores = {
    hot: redisLine ? `redis://127.0.0.1:${redisLine.port}` : redis.url,
    ledger: postgres.url,
  };
  const config = { ...changes.config, stores };
  const gateways: TestGateway[] = [];
  const close = async () => {
    redis.signal("SIGCONT");
    await Promise.all(gateways.map((gateway) => gateway.close()));
    await redisLine?.close();
    await Promise.all([redis.stop(), postgres.stop(), simulator.stop()]);
  };
  try {
    const starts = Array.from({ length: count }, () =>
      startGateway({ simulator, config, plugins: changes.plugins }),
    );
    const started = await Promise.allSettled(starts);
    for (const start of started) if (start.status === "fulfilled") gateways.push(start.value);
    for (const start of started) if (start.status === "rejected") throw start.reason;
  } catch (error) {
    await close();
    throw error;
  }
  return { redis, redisLine, postgres, simulator, gateways, close };
}
