import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { formatVnd } from "../../core/contract/amount.ts";
import { FAILPOINTS, type Failpoint } from "../../core/process/failpoint.ts";
import { admin, type Customer, createCustomer, usage, wallet } from "../support/admin.ts";
import { ArmedGateway, diesAtStart, refusingPlugin } from "../support/armed.ts";
import { bodyOf, MESSAGES_MODEL } from "../support/ask.ts";
import { type GatewayOptions, startGateway, type TestGateway } from "../support/gateway.ts";
import { writeCatalogue } from "../support/gateway-config.ts";
import { type PostgresServer, startPostgresServer } from "../support/postgres-server.ts";
import { microVnd } from "../support/proof.ts";
import { type RedisServer, startRedisServer } from "../support/redis.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const PATH = "/v1/messages";
const CREDIT_VND = 1_000;
const PRICE = { [MESSAGES_MODEL]: 36_000 };
const INPUT_TOKENS = 20;
const SLICE_TOKENS = 16;
/** A lease, plus a margin for a machine with much else to do. */
const COMMIT_TIMEOUT_MS = 300_000;
const LANES = 2;
const DURABLE = { settings: ["--save", "", "--appendonly", "yes", "--appendfsync", "always"] };

/** About sixty gateways start here: faster with the models of the default families only. */
const MODELS = [MESSAGES_MODEL, "claude-fable-5-2", "claude-sonnet-5-5", "claude-haiku-5-5"];
/** No customer signs in here, so the gateways also start without these plugins. */
const WITHOUT_CUSTOMERS = { accounts: false, dashboard: false, topup: false } as const;

/** What must be true of a wallet at the end. */
interface Claim {
  readonly what: string;
  readonly customer: Customer;
  /**
   * The cost of its one call. If the client did not get the whole reply, the charge is this or 0.
   */
  readonly costVnd: string;
  readonly isWhole: boolean;
  /** The sum of all movements except calls. */
  readonly creditVnd: number;
}

let postgres: PostgresServer;
let simulator: TestSimulator;
let plugin: string;
let catalogue: string;
/** Serves no calls; reads the ledger and creates customers. */
let office: TestGateway;

t.before(async () => {
  [postgres, simulator] = await Promise.all([startPostgresServer(), startTestSimulator()]);
  plugin = refusingPlugin();
  catalogue = join(dirname(plugin), "catalogue.yaml");
  writeCatalogue(catalogue, MODELS);
  office = await startGateway(options("embedded"));
});

t.teardown(async () => {
  await office.close();
  await simulator.stop();
  await postgres.stop();
  rmSync(dirname(plugin), { recursive: true });
});

function options(hot: string, more: Partial<GatewayOptions> = {}, ledger = postgres.url) {
  return {
    simulator,
    config: { stores: { hot, ledger }, catalogue },
    plugins: { ...WITHOUT_CUSTOMERS, settle: { slice_tokens: SLICE_TOKENS }, [plugin]: true },
    ...more,
  } satisfies GatewayOptions;
}

function customerOf(creditVnd = CREDIT_VND): Promise<Customer> {
  return createCustomer(office, { creditVnd });
}

interface CallOptions {
  readonly outputTokens?: number;
  readonly streamed?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes a call, and retries on 503 as clients do. */
async function call(gateway: TestGateway, customer: Customer, options: CallOptions = {}) {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  for (;;) {
    const { status, ...done } = await callOnce(gateway, customer, options);
    if (status !== 503 || performance.now() > deadline) return done;
    await delay(20);
  }
}

/** Sends a call and reads the reply; `isWhole` if its last byte arrived. Status 0: no reply. */
async function callOnce(
  gateway: TestGateway,
  { key }: Customer,
  { outputTokens = 30, streamed = false, headers = {} }: CallOptions,
): Promise<{ costVnd: string; isWhole: boolean; status: number }> {
  const directive = { input_tokens: INPUT_TOKENS, output_tokens: outputTokens, event_delay_ms: 15 };
  const body = bodyOf(PATH, directive, { stream: streamed, max_tokens: 4 * outputTokens });
  const costVnd = formatVnd((INPUT_TOKENS + outputTokens) * PRICE[MESSAGES_MODEL]);
  try {
    const response = await fetch(gateway.url + PATH, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key, ...headers },
      body,
    });
    const text = await response.text();
    const isWhole = streamed ? text.includes("event: message_stop") : text.endsWith("}");
    const { status } = response;
    return { costVnd, isWhole: isWhole && status === 200, status };
  } catch {
    return { costVnd, isWhole: false, status: 0 };
  }
}

/**
 * Reaches each point in a running gateway; returns what must be true of the customer afterwards.
 */
const DRIVES: Partial<
  Record<Failpoint, (gateway: TestGateway, customer: Customer) => Promise<Partial<Claim>>>
> = {
  "hold.before": call,
  "hold.after": call,
  "wallet.read": call,
  "wallet.loaded": call,
  "post.before": call,
  "post.after": call,
  "commit.read": call,
  "commit.committed": call,
  "commit.acknowledged": call,
  "extend.before": (gateway, customer) =>
    call(gateway, customer, { streamed: true, outputTokens: 100 }),
  "extend.after": (gateway, customer) =>
    call(gateway, customer, { streamed: true, outputTokens: 100 }),
  "void.before": refuse,
  "void.after": refuse,
  "credit.committed": (gateway, customer) => move(gateway, customer, 50),
  "credit.applied": (gateway, customer) => move(gateway, customer, 50),
  "take.held": (gateway, customer) => move(gateway, customer, -50),
  "take.committed": (gateway, customer) => move(gateway, customer, -50),
  "take.applied": (gateway, customer) => move(gateway, customer, -50),
};

async function refuse(gateway: TestGateway, customer: Customer): Promise<Partial<Claim>> {
  await call(gateway, customer, { headers: { "x-refuse": "1" } });
  return { costVnd: "0" };
}

async function move(gateway: TestGateway, customer: Customer, vnd: number) {
  await sendMovement(gateway, customer, vnd).catch(() => {});
  return { creditVnd: CREDIT_VND + vnd };
}

/** The reference never changes, so the movement can be sent again if its reply is lost. */
function sendMovement(gateway: TestGateway, { accountId }: Customer, vnd: number) {
  const movement = { amount_vnd: vnd, reference: `move ${accountId}`, reason: "test" };
  return admin(gateway, "POST", `/accounts/${accountId}/credits`, movement);
}

/** Drives a gateway to this failpoint until it dies. Returns what must be true afterwards. */
async function crash(
  point: Failpoint,
  how: GatewayOptions,
): Promise<{ armed: ArmedGateway; claim: Claim }> {
  const drive = DRIVES[point];
  assert.ok(drive, point);
  const customer = await customerOf();
  const armed = await ArmedGateway.start(point, how);
  const claim = await drive(armed.gateway, customer);
  await armed.died();
  const rest = { costVnd: "0", isWhole: false, creditVnd: CREDIT_VND };
  return { armed, claim: { ...rest, what: point, customer, ...claim } };
}

/**
 * Charged once if the reply was whole, at most once otherwise; nothing held, no balance below zero,
 * no drift.
 */
async function prove(gateway: TestGateway, claim: Claim): Promise<void> {
  const { customer, creditVnd, costVnd, isWhole, what } = claim;
  const moved = creditVnd - CREDIT_VND;
  // A client whose movement got no reply sends it again.
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  while (moved !== 0 && (await sendMovement(gateway, customer, moved)).status >= 300) {
    assert.ok(performance.now() < deadline, `${what}: the movement is refused`);
    await delay(50);
  }
  for (;;) {
    const { held, pending, available, balance } = await walletOf(gateway, customer);
    assert.ok(microVnd(available) >= 0n, `${what}: ${available} đ are available`);
    const records = await usage(gateway, customer.accountId);
    const charged = records.reduce((sum, record) => sum + microVnd(record["cost_vnd"]), 0n);
    const isCommitted = held === "0" && pending === "0" && (!isWhole || records.length === 1);
    if (isCommitted && microVnd(balance) === microVnd(creditVnd) - charged) {
      assert.ok(records.length <= 1, `${what}: ${JSON.stringify(records)}`);
      if (isWhole) assert.equal(charged, microVnd(costVnd), what);
      else assert.ok(charged <= microVnd(costVnd), `${what}: ${charged} µđ`);
      return;
    }
    const state = JSON.stringify({ held, pending, available, balance, records });
    assert.ok(performance.now() < deadline, `${what}: ${state}`);
    await delay(50);
  }
}

/** The same check as the `reconcile` command, without its process. */
async function assertReconciled(gateway: TestGateway): Promise<void> {
  const { status, body } = await admin(gateway, "GET", "/reconcile");
  assert.equal(status, 200);
  assert.equal(body["drift"], false, JSON.stringify(body));
}

/** The wallet, once the gateway has joined its buckets again. */
async function walletOf(gateway: TestGateway, { accountId }: Customer) {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  for (;;) {
    const parts = await wallet(gateway, accountId);
    if (parts.held !== "undefined" || performance.now() > deadline) return parts;
    await delay(50);
  }
}

/** A start reaches these points too, with what the previous run has left. */
function isReachedAtStart(point: Failpoint): boolean {
  return point.startsWith("commit.") || point.startsWith("wallet.");
}

/** Each start recovers from the crash before it, then crashes itself. */
async function crashInTurn(points: readonly Failpoint[]): Promise<void> {
  const claims: Claim[] = [];
  const gateways: TestGateway[] = [];
  for (const point of points) {
    const data = gateways[0]?.data;
    const { armed, claim } = await crash(point, options("embedded", data ? { data } : {}));
    claims.push(claim);
    gateways.push(armed.gateway);
  }
  const last = await startGateway(options("embedded", { data: gateways[0]!.data }));
  for (const claim of claims) await prove(last, claim);
  await assertReconciled(last);
  for (const gateway of [last, ...gateways]) await gateway.close();
}

async function inLanes<T>(list: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...list];
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

const DRIVEN = FAILPOINTS.filter((point) => point in DRIVES);

t.test("a gateway that dies between two steps of money", { jobs: 2 }, async (t) => {
  t.test("loses nothing over a restart: embedded hold store", async () => {
    const own = inLanes(DRIVEN.filter(isReachedAtStart), async (point) => {
      const { armed, claim } = await crash(point, options("embedded"));
      await armed.startUnarmed();
      await prove(armed.gateway, claim);
      await assertReconciled(armed.gateway);
      await armed.gateway.close();
    });
    await Promise.all([own, crashInTurn(DRIVEN.filter((point) => !isReachedAtStart(point)))]);
  });

  for (const point of ["commit.committed", "post.after"] as const) {
    t.test(`loses nothing over a restart: everything embedded, ${point}`, async () => {
      const armed = await ArmedGateway.start(point, options("embedded", {}, "embedded"));
      // With an embedded ledger, only its own gateway can create customers.
      const customer = await createCustomer(armed.gateway, { creditVnd: CREDIT_VND });
      const done = await call(armed.gateway, customer);
      await armed.died();
      await armed.startUnarmed();
      await prove(armed.gateway, { what: point, customer, creditVnd: CREDIT_VND, ...done });
      await assertReconciled(armed.gateway);
      await armed.gateway.close();
    });
  }

  t.test("loses nothing, because another gateway takes over: Redis", async () => {
    const redis = await startRedisServer(DURABLE);
    const other = await startGateway(options(redis.url));
    const claims: Claim[] = [];
    await inLanes(DRIVEN, async (point) => {
      const { armed, claim } = await crash(point, options(redis.url));
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
    await diesAtStart("bucket.joined", options(redis.url));
    await diesAtStart("bucket.loadable", options(redis.url));
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
    ];
    // `topup` tests its own failpoints.
    const all = FAILPOINTS.filter((point) => !point.startsWith("topup."));
    t.strictSame([...DRIVEN, ...elsewhere].sort(), [...all].sort());
  });
});

/** Makes a call, and runs `happens` between its hold and its end. */
async function callWhile(gateway: TestGateway, customer: Customer, happens: () => unknown) {
  const running = call(gateway, customer, { streamed: true, outputTokens: 200 });
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  while (!(Number((await wallet(gateway, customer.accountId)).held) > 0)) {
    assert.ok(performance.now() < deadline, "nothing is held");
    await delay(5);
  }
  await happens();
  return running;
}

function callWhileRedisDies(gateway: TestGateway, customer: Customer, redis: RedisServer) {
  return callWhile(gateway, customer, () => redis.kill());
}

async function startWith(redis: RedisServer, data: string): Promise<TestGateway> {
  await redis.start();
  return startGateway(options(redis.url, { data }));
}

/**
 * Calls until one is served: wallets load again once every gateway that may have data has rejoined
 * or is dead.
 */
async function untilServed(gateway: TestGateway, customer: Customer) {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  for (;;) {
    const done = await call(gateway, customer);
    if (done.isWhole) return done;
    assert.ok(performance.now() < deadline, "calls are still refused");
    await delay(50);
  }
}

async function committedIn(gateway: TestGateway, { accountId }: Customer): Promise<void> {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  while ((await usage(gateway, accountId)).length === 0) {
    assert.ok(performance.now() < deadline, "the call does not reach the ledger");
    await delay(20);
  }
}

async function untilClaimed(redis: RedisServer): Promise<void> {
  const script =
    "local n = 0 for _, key in ipairs(redis.call('KEYS', '*:orphans')) do n = n + redis.call('HLEN', key) end return n";
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  while ((await redis.call("EVAL", script, "0")) === 0) {
    assert.ok(performance.now() < deadline, "no gateway claims the orphaned outbox");
    await delay(50);
  }
}

async function assertNoHolds(redis: RedisServer): Promise<void> {
  const script =
    "local n = 0 for _, key in ipairs(redis.call('KEYS', '*:holds')) do n = n + redis.call('HLEN', key) end return n";
  assert.equal(await redis.call("EVAL", script, "0"), 0);
}
