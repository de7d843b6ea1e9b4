import { rmSync } from "node:fs";
import { dirname } from "node:path";
import t from "tap";
import { FAILPOINTS, type Failpoint } from "../../core/process/failpoint.ts";
import type { Customer } from "../support/admin.ts";
import { ArmedGateway, diesAtStart, refusingPlugin } from "../support/armed.ts";
import { type GatewayOptions, startGateway, type TestGateway } from "../support/gateway.ts";
import { type PostgresServer, startPostgresServer } from "../support/postgres-server.ts";
import { assertReconciled } from "../support/proof.ts";
import { type RedisServer, startRedisServer } from "../support/redis.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { type Claim, CREDIT_VND, call, callWhile, crash } from "./failpoint-calls.ts";
import { customerAt, DRIVEN, failpointOptions } from "./failpoint-gateways.ts";
import { assertNoHolds, committedIn, prove, untilClaimed, untilServed } from "./failpoint-proof.ts";

const LANES = 2;
const DURABLE = { settings: ["--save", "", "--appendonly", "yes", "--appendfsync", "always"] };

let postgres: PostgresServer;
let simulator: TestSimulator;
let plugin: string;
/** Serves no calls; reads the ledger and creates customers. */
let office: TestGateway;
let officeRedis: RedisServer;

t.before(async () => {
  [postgres, simulator, officeRedis] = await Promise.all([
    startPostgresServer(),
    startTestSimulator(),
    startRedisServer(),
  ]);
  plugin = refusingPlugin();
  office = await startGateway(options(officeRedis.url));
});

t.teardown(async () => {
  await office.close();
  await Promise.all([simulator.stop(), officeRedis.stop(), postgres.stop()]);
  rmSync(dirname(plugin), { recursive: true });
});

function options(hot: string, more: Partial<GatewayOptions> = {}, ledger = postgres.url) {
  return { ...failpointOptions(simulator, plugin, { hot, ledger }), ...more };
}

function customerOf(): Promise<Customer> {
  return customerAt(office);
}

async function inLanes<T>(list: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...list];
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

t.test("a gateway that dies between two steps of money", { jobs: 2 }, async (t) => {
  t.test("loses nothing, because another gateway takes over: Redis", async () => {
    const redis = await startRedisServer(DURABLE);
    const other = await startGateway(options(redis.url));
    const claims: Claim[] = [];
    await inLanes(DRIVEN, async (point) => {
      const { armed, claim } = await crash(point, options(redis.url), await customerOf());
      claims.push(claim);
      await armed.gateway.close();
    });
    // All their leases end at about the same time.
    for (const claim of claims) await prove(other, claim);
    await assertReconciled(other);
    await assertNoHolds(redis);
    await other.close();
    await redis.stop();
  });

  t.test("loses no spooled call, however often the next starts die too", async (t) => {
    const redis = await startRedisServer(DURABLE);
    const armed = await ArmedGateway.start("spool.kept", options(redis.url));
    const first = await customerOf();
    const cut = await callWhileRedisDies(armed.gateway, first, redis);
    await armed.died();
    const { data } = armed.gateway;
    const next = await startWith(redis, data);
    const second = await customerOf();
    const whole = await callWhileRedisDies(next, second, redis);
    t.ok(whole.isWhole);
    await next.kill9();
    await redis.start();
    await diesAtStart("spool.replaying", options(redis.url, { data }));
    await diesAtStart("spool.resent", options(redis.url, { data }));
    await next.start();
    await prove(next, { what: "spool.kept", customer: first, creditVnd: CREDIT_VND, ...cut });
    await prove(next, { what: "spool.resent", customer: second, creditVnd: CREDIT_VND, ...whole });
    await assertReconciled(next);
    await assertNoHolds(redis);
    await next.close();
    await armed.gateway.close();
    await redis.stop();
  });

  t.test("loses no call in its outbox, though gateways die while taking it over", async (t) => {
    const redis = await startRedisServer(DURABLE);
    const way = await startTcpProxy(postgres.port);
    const cutOff = postgres.url.replace(String(postgres.port), String(way.port));
    const dead = await startGateway(options(redis.url, {}, cutOff));
    const customer = await customerOf();
    const done = await callWhile(dead, customer, () => way.cut());
    t.ok(done.isWhole);
    await dead.kill9();
    const reaper = await ArmedGateway.start("lease.reaped", options(redis.url));
    await reaper.died();
    // The next gateway claims the outbox, and cannot reach the ledger to commit it.
    way.restore();
    const claimer = await startGateway(options(redis.url, {}, cutOff));
    way.cut();
    await untilClaimed(redis);
    await claimer.kill9();
    for (const point of ["lease.claimed", "lease.finished"] as const) {
      const armed = await ArmedGateway.start(point, options(redis.url));
      await armed.died();
      await armed.gateway.close();
    }
    const last = await startGateway(options(redis.url));
    await prove(last, { what: "lease", customer, creditVnd: CREDIT_VND, ...done });
    await assertReconciled(last);
    await assertNoHolds(redis);
    await Promise.all([last, dead, claimer, reaper.gateway].map((one) => one.close()));
    await way.close();
    await redis.stop();
  });

  t.test("loses nothing while it joins or rebuilds a bucket", async (t) => {
    const redis = await startRedisServer();
    const wipe = () => redis.call("FLUSHALL");
    await diesAtStart("bucket.joined", options(redis.url), wipe);
    await diesAtStart("bucket.loadable", options(redis.url), wipe);
    const armed = await ArmedGateway.start("bucket.declared", options(redis.url));
    const customer = await customerOf();
    await call(armed.gateway, await customerOf());
    await redis.call("SAVE");
    const done = await call(armed.gateway, customer);
    t.ok(done.isWhole);
    await committedIn(office, customer);
    // Redis restarts with an old state, without the second call.
    await redis.kill();
    await redis.start();
    await armed.died();
    await armed.startUnarmed();
    await prove(armed.gateway, { what: "declared", customer, creditVnd: CREDIT_VND, ...done });
    await assertReconciled(armed.gateway);
    await assertNoHolds(redis);
    await armed.gateway.close();
    await redis.stop();
  });

  t.test("loses one charge and nothing else if Redis is wiped while it is frozen", async () => {
    const redis = await startRedisServer();
    const way = await startTcpProxy(postgres.port);
    const cutOff = postgres.url.replace(String(postgres.port), String(way.port));
    const armed = await ArmedGateway.start("bucket.requeued", options(redis.url, {}, cutOff));
    const other = await startGateway(options(redis.url));
    const customer = await customerOf();
    const done = await callWhile(armed.gateway, customer, () => way.cut());
    armed.gateway.signal("SIGSTOP");
    await redis.call("FLUSHALL");
    const again = await untilServed(other, customer);
    armed.gateway.signal("SIGCONT");
    await armed.died();
    const claim = { what: "offered", customer, creditVnd: CREDIT_VND };
    // This double failure loses a charge: the first call is in no store and no process.
    await prove(other, {
      ...claim,
      costVnd: again.costVnd,
      isWhole: again.isWhole && done.isWhole,
    });
    await assertReconciled(other);
    await assertNoHolds(redis);
    await Promise.all([other.close(), armed.gateway.close(), way.close()]);
    await redis.stop();
  });

  t.test("was driven to every failpoint", async (t) => {
    const elsewhere: readonly Failpoint[] = [
      "spool.kept",
      "spool.replaying",
      "spool.resent",
      "bucket.declared",
      "bucket.joined",
      "bucket.requeued",
      "bucket.loadable",
      "lease.reaped",
      "lease.claimed",
      "lease.finished",
      // In `backup-drill.test.ts`.
      "restore.epochs",
      "restore.accepted",
    ];
    // `topup` tests its own failpoints.
    const all = FAILPOINTS.filter((point) => !point.startsWith("topup."));
    t.strictSame([...DRIVEN, ...elsewhere].sort(), [...all].sort());
  });
});

function callWhileRedisDies(gateway: TestGateway, customer: Customer, redis: RedisServer) {
  return callWhile(gateway, customer, () => redis.kill());
}

async function startWith(redis: RedisServer, data: string): Promise<TestGateway> {
  await redis.start();
  return startGateway(options(redis.url, { data }));
}
