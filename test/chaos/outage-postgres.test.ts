import assert from "node:assert/strict";
import t from "tap";
import { admin, type Customer, createCustomer } from "../support/admin.ts";
import {
  assertCharged,
  assertUnavailable,
  assertWhole,
  beginStream,
  callMicroVnd,
  callOnce,
  knownCustomer,
  logLines,
  STREAM_MICRO_VND,
  untilServed,
} from "../support/outage.ts";
import { type PostgresServer, startPostgresServer } from "../support/postgres-server.ts";
import { type Production, startProduction } from "../support/production.ts";
import { get } from "../support/requests.ts";
import { until } from "../support/until.ts";

const CALLS = 200;
/** A gateway takes twice as many calls while it lasts. Each minute of it adds some lines. */
const LOG_LINES_MAX = CALLS / 2;

interface Harm {
  readonly name: string;
  begin(postgres: PostgresServer): Promise<void> | void;
  end(postgres: PostgresServer): Promise<void> | void;
}

const harms: readonly Harm[] = [
  {
    name: "killed",
    begin: (postgres) => postgres.kill(),
    end: (postgres) => postgres.restart(),
  },
  {
    name: "frozen",
    begin: (postgres) => postgres.signal("SIGSTOP"),
    end: (postgres) => postgres.signal("SIGCONT"),
  },
];

t.test("two gateways whose Postgres is down", async (t) => {
  let postgres: PostgresServer;
  let parts: Production;
  let customer: Customer;
  let calls: number;
  let expected: bigint;

  t.before(async () => {
    postgres = await startPostgresServer();
    parts = await startProduction({}, { postgres });
  });
  // `before` may have failed.
  t.teardown(() => {
    postgres?.signal("SIGCONT");
    return parts ? parts.close() : postgres?.stop();
  });
  t.beforeEach(async () => {
    customer = await knownCustomer(parts.gateways);
    calls = parts.gateways.length;
    expected = BigInt(calls) * callMicroVnd(0);
  });

  const gatewayOf = (turn: number) => parts.gateways[turn % parts.gateways.length]!;

  const notes = () => parts.gateways.flatMap((gateway) => logLines(gateway, 0)).join("\n");

  /** Makes calls that must be served, over both gateways and both protocols. */
  async function served(count: number): Promise<void> {
    const turns = Array.from({ length: count }, (_, turn) => turn);
    const results = await Promise.all(
      turns.map((turn) => callOnce(gatewayOf(turn >> 1), customer, turn)),
    );
    for (const [turn, { status, body }] of results.entries()) {
      assert.equal(status, 200, `${JSON.stringify(body)}\n${notes()}`);
      expected += callMicroVnd(turn);
    }
    calls += count;
  }

  const charged = () => assertCharged(gatewayOf(1), customer, { microVnd: expected, calls });

  for (const harm of harms) {
    t.test(`serve known customers, and commit afterwards: ${harm.name}`, async (t) => {
      const stranger = await createCustomer(gatewayOf(0), { creditVnd: 10 });
      const logged = parts.gateways.map(({ logs }) => logs.length);
      await harm.begin(postgres);
      await served(CALLS);
      // A key that this gateway has never seen cannot be checked; it is refused at once.
      const refused = await callOnce(gatewayOf(1), stranger, 0);
      assertUnavailable(refused, 0);
      t.comment(`${harm.name}: an unknown key was refused in ${refused.tookMs.toFixed(0)} ms`);
      const { status } = await admin(gatewayOf(0), "GET", `/accounts/${stranger.accountId}/usage`);
      t.equal(status, 503);
      const ready = await get(gatewayOf(0), "/readyz", undefined);
      t.strictSame([ready.status, ready.json.ledger], [200, "away"]);
      await served(CALLS);
      for (const [at, gateway] of parts.gateways.entries()) {
        const lines = logLines(gateway, logged[at]!);
        t.ok(lines.length <= LOG_LINES_MAX, lines.join("\n"));
      }
      await harm.end(postgres);
      await charged();
      t.equal((await callOnce(gatewayOf(1), stranger, 0)).status, 200);
    });
  }

  for (const first of ["Redis", "Postgres"]) {
    t.test(`lose nothing if Redis goes down too, and ${first} recovers first`, async (t) => {
      await postgres.kill();
      await served(CALLS);
      const numbers = [0, 1, 2, 3];
      const streams = await Promise.all(numbers.map((n) => beginStream(gatewayOf(n), customer)));
      await parts.redis.kill();
      for (const turn of [0, 1])
        assertUnavailable(await callOnce(gatewayOf(0), customer, turn), turn);
      for (const stream of streams) await assertWhole(stream);
      calls += streams.length;
      expected += BigInt(streams.length) * STREAM_MICRO_VND;
      const down = await get(gatewayOf(0), "/readyz", undefined);
      t.strictSame([down.status, down.json.hot, down.json.ledger], [503, "away", "away"]);
      if (first === "Postgres") await postgres.restart();
      await parts.redis.start();
      if (first === "Redis") {
        // A Redis that has restarted is a cache without an epoch until the ledger has named one.
        assertUnavailable(await callOnce(gatewayOf(0), customer, 0), 0);
        await postgres.restart();
      }
      for (const gateway of parts.gateways) {
        expected += await untilServed(gateway, customer);
        calls += 1;
      }
      await charged();
    });
  }

  t.test("lose nothing if Redis is wiped, and serve again once Postgres is back", async (t) => {
    await postgres.kill();
    await served(CALLS);
    await parts.redis.call("FLUSHALL");
    await until("the wipe is noticed", async () => {
      const result = await callOnce(gatewayOf(0), customer, 0);
      if (result.status === 503) return true;
      t.equal(result.status, 200);
      expected += callMicroVnd(0);
      calls += 1;
      return false;
    });
    await postgres.restart();
    expected += await untilServed(gatewayOf(0), customer);
    calls += 1;
    await charged();
  });
});
