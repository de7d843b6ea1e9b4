import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import t from "tap";
import { connect } from "../../core/database/client.ts";
import { FAILPOINTS, type Failpoint } from "../../core/process/failpoint.ts";
import type { Customer } from "../support/admin.ts";
import { ArmedGateway, diesAtStart, refusingPlugin } from "../support/armed.ts";
import { type GatewayOptions, startGateway, type TestGateway } from "../support/gateway.ts";
import { recordedLog } from "../support/log.ts";
import { type PostgresServer, startPostgresServer } from "../support/postgres-server.ts";
import { assertReconciled } from "../support/proof.ts";
import { Random } from "../support/random.ts";
import { type RedisServer, startRedisServer } from "../support/redis.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { type Claim, CREDIT_VND, call, callWhile, crash } from "./failpoint-calls.ts";
import { customerAt, DRIVEN, failpointOptions } from "./failpoint-gateways.ts";
import { assertNoHolds, committedIn, prove, untilClaimed, untilServed } from "./failpoint-proof.ts";

const LANES = 2;
/** A thorough run takes all points, another one the half that its seed gives. */
const isThorough = process.env["TOLLGATE_THOROUGH"] === "1";
const DURABLE = { settings: ["--save", "", "--appendonly", "yes", "--appendfsync", "always"] };

const SQL = { statementTimeoutMs: 60_000, log: recordedLog().log };

let postgres: PostgresServer;
let simulator: TestSimulator;
let plugin: string;

t.before(async () => {
  [postgres, simulator] = await Promise.all([startPostgresServer(), startTestSimulator()]);
  plugin = refusingPlugin();
});

t.teardown(async () => {
  await Promise.all([simulator.stop(), postgres.stop()]);
  rmSync(dirname(plugin), { recursive: true });
});

/** The ledger of one Redis, with customers. */
class Books {
  private readonly customers: Customer[] = [];

  private constructor(readonly url: string) {}

  static async open(customers: number): Promise<Books> {
    const sql = connect({ server: { url: postgres.url }, connectionsMax: 1, ...SQL });
    const name = `books_${randomUUID().replaceAll("-", "")}`;
    await sql.query(`create database ${name}`);
    await sql.end(1);
    const books = new Books(new URL(`/${name}`, postgres.url).href);
    const office = await startGateway(books.gateway("embedded"));
    while (books.customers.length < customers) books.customers.push(await customerAt(office));
    await office.stop();
    await office.close();
    return books;
  }

  /** The options of a gateway. `way`: the port by which it reaches the ledger. */
  gateway(hot: string, more: Partial<GatewayOptions> = {}, way = postgres.port) {
    const ledger = this.url.replace(`:${postgres.port}/`, `:${way}/`);
    return { ...failpointOptions(simulator, plugin, { hot, ledger }), ...more };
  }

  customer(): Customer {
    const customer = this.customers.pop();
    if (customer === undefined) throw new Error("open the books with more customers");
    return customer;
  }
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
    const random = Random.printed();
    const points = DRIVEN.filter(() => isThorough || random.chance(0.3));
    const books = await Books.open(points.length);
    const other = await startGateway(books.gateway(redis.url));
    const claims: Claim[] = [];
    await inLanes(points, async (point) => {
      const { armed, claim } = await crash(point, books.gateway(redis.url), books.customer());
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
    const books = await Books.open(2);
    const armed = await ArmedGateway.start("spool.kept", books.gateway(redis.url));
    const first = books.customer();
    const cut = await callWhileRedisDies(armed.gateway, first, redis);
    await armed.died();
    const { data } = armed.gateway;
    const next = await startWith(redis, books.gateway(redis.url, { data }));
    const second = books.customer();
    const whole = await callWhileRedisDies(next, second, redis);
    t.ok(whole.isWhole);
    await next.kill9();
    await redis.start();
    await diesAtStart("spool.replaying", books.gateway(redis.url, { data }));
    await diesAtStart("spool.resent", books.gateway(redis.url, { data }));
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
    const books = await Books.open(1);
    const way = await startTcpProxy(postgres.port);
    const dead = await startGateway(books.gateway(redis.url, {}, way.port));
    const customer = books.customer();
    const done = await callWhile(dead, customer, () => way.cut());
    t.ok(done.isWhole);
    await dead.kill9();
    const reaper = await ArmedGateway.start("lease.reaped", books.gateway(redis.url));
    await reaper.died();
    // The next gateway claims the outbox, and cannot reach the ledger to commit it.
    way.restore();
    const claimer = await startGateway(books.gateway(redis.url, {}, way.port));
    way.cut();
    await untilClaimed(redis);
    await claimer.kill9();
    for (const point of ["lease.claimed", "lease.finished"] as const) {
      const armed = await ArmedGateway.start(point, books.gateway(redis.url));
      await armed.died();
      await armed.gateway.close();
    }
    const last = await startGateway(books.gateway(redis.url));
    await prove(last, { what: "lease", customer, creditVnd: CREDIT_VND, ...done });
    await assertReconciled(last);
    await assertNoHolds(redis);
    await Promise.all([last, dead, claimer, reaper.gateway].map((one) => one.close()));
    await way.close();
    await redis.stop();
  });

  t.test("loses nothing while it joins or rebuilds a bucket", async (t) => {
    const redis = await startRedisServer();
    const books = await Books.open(2);
    const wipe = () => redis.call("FLUSHALL");
    await diesAtStart("epoch.named", books.gateway(redis.url), wipe);
    await diesAtStart("bucket.joined", books.gateway(redis.url), wipe);
    await diesAtStart("bucket.loadable", books.gateway(redis.url), wipe);
    const armed = await ArmedGateway.start("epoch.begun", books.gateway(redis.url));
    const customer = books.customer();
    await call(armed.gateway, books.customer());
    await redis.call("SAVE");
    const done = await call(armed.gateway, customer);
    t.ok(done.isWhole);
    await committedIn(armed.gateway, customer);
    // Redis restarts with an old state, without the second call.
    await redis.kill();
    await redis.start();
    await armed.died();
    await armed.startUnarmed();
    await prove(armed.gateway, { what: "begun", customer, creditVnd: CREDIT_VND, ...done });
    await assertReconciled(armed.gateway);
    await assertNoHolds(redis);
    await armed.gateway.close();
    await redis.stop();
  });

  t.test("loses one charge and nothing else if Redis is wiped while it is frozen", async () => {
    const redis = await startRedisServer();
    const books = await Books.open(1);
    const way = await startTcpProxy(postgres.port);
    const armed = await ArmedGateway.start(
      "bucket.requeued",
      books.gateway(redis.url, {}, way.port),
    );
    const other = await startGateway(books.gateway(redis.url));
    const customer = books.customer();
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
      "epoch.named",
      "epoch.begun",
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
    // Plugins test their own failpoints.
    const all = FAILPOINTS.filter((point) => !/^(?:topup|approval|voucher|message)\./.test(point));
    t.strictSame([...DRIVEN, ...elsewhere].sort(), [...all].sort());
  });
});

function callWhileRedisDies(gateway: TestGateway, customer: Customer, redis: RedisServer) {
  return callWhile(gateway, customer, () => redis.kill());
}

async function startWith(redis: RedisServer, options: GatewayOptions): Promise<TestGateway> {
  await redis.start();
  return startGateway(options);
}
