import assert from "node:assert/strict";
import t from "tap";
import { admin, type Customer, createCustomer } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
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
  slowestRefusalMs,
  untilServed,
} from "../support/outage.ts";
import { type Production, startProduction } from "../support/production.ts";
import { microVnd } from "../support/proof.ts";
import type { RedisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";

const STREAMS = 12;
const CALLS = 200;
/**
 * A few lines, however many calls there are: Redis is down, Redis is back, calls cannot be held.
 */
const LOG_LINES_MAX = 12;

interface Harm {
  readonly name: string;
  begin(parts: Production): Promise<void> | void;
  end(parts: Production): Promise<void> | void;
}

const harms: readonly Harm[] = [
  { name: "killed", begin: ({ redis }) => redis.kill(), end: ({ redis }) => redis.start() },
  {
    name: "frozen",
    begin: ({ redis }) => redis.signal("SIGSTOP"),
    end: ({ redis }) => redis.signal("SIGCONT"),
  },
  {
    name: "cut off",
    begin: ({ redisLine }) => redisLine?.cut(),
    end: ({ redisLine }) => redisLine?.restore(),
  },
  {
    name: "full",
    begin: ({ redis }) => command(redis, "CONFIG", "SET", "maxmemory", "1"),
    end: ({ redis }) => command(redis, "CONFIG", "SET", "maxmemory", "0"),
  },
  {
    name: "read only",
    begin: ({ redis }) => command(redis, "REPLICAOF", "127.0.0.1", "1"),
    end: ({ redis }) => command(redis, "REPLICAOF", "NO", "ONE"),
  },
];

async function command(redis: RedisServer, name: string, ...args: string[]): Promise<void> {
  assert.equal(await redis.call(name, ...args), "OK");
}

function creditOnce(gateway: TestGateway, { accountId }: Customer, reference: string) {
  const credit = { amount_vnd: "7", reference };
  return admin(gateway, "POST", `/accounts/${accountId}/credits`, credit);
}

t.test("two gateways whose Redis is down", async (t) => {
  const parts = await startProduction({}, { redisLine: true });
  t.teardown(() => parts.close());

  for (const harm of harms) {
    t.test(
      `refuse new calls at once and finish running ones, all of them charged once: ${harm.name}`,
      async (t) => {
        const { gateways } = parts;
        const gatewayOf = (turn: number) => gateways[turn % gateways.length]!;
        const customer = await knownCustomer(gateways);
        let expected = BigInt(gateways.length) * callMicroVnd(0);
        const streams = await Promise.all(
          Array.from({ length: STREAMS }, (_, turn) => beginStream(gatewayOf(turn), customer)),
        );
        const other = await createCustomer(gatewayOf(0), { creditVnd: 5 });
        await untilServed(gatewayOf(0), other);
        const logged = gateways.map(({ logs }) => logs.length);

        await harm.begin(parts);
        const turns = Array.from({ length: CALLS }, (_, turn) => turn);
        // Both protocols at each gateway.
        const refused = await Promise.all(
          turns.map((turn) => callOnce(gatewayOf(turn >> 1), customer, turn)),
        );
        for (const [turn, result] of refused.entries()) assertUnavailable(result, turn);
        assertUnavailable(await callOnce(gatewayOf(0), customer, 0), 0);
        const credited = await creditOnce(gatewayOf(0), other, harm.name);
        t.equal(credited.status, 503, JSON.stringify(credited.body));
        for (const stream of streams) await assertWhole(stream);
        expected += BigInt(STREAMS) * STREAM_MICRO_VND;
        for (const [at, gateway] of gateways.entries()) {
          const lines = logLines(gateway, logged[at]!);
          const slowestMs = slowestRefusalMs(gateway, logged[at]!);
          t.comment(`${harm.name}: ${lines.length} lines, slowest refusal ${slowestMs} ms`);
          t.ok(lines.length > 0 && lines.length <= LOG_LINES_MAX, lines.join("\n"));
        }

        await harm.end(parts);
        for (const gateway of gateways) expected += await untilServed(gateway, customer);
        // The credit reached the ledger during the outage. It becomes spendable without a retry,
        // and a retry does not count again.
        const saved = 12n * 1_000_000n - callMicroVnd(0);
        // Its bucket may come back later than the customer's; until then it has no balance to show.
        const available = async () => {
          const path = `/accounts/${other.accountId}/wallet`;
          const { status, body } = await admin(gatewayOf(1), "GET", path);
          return status === 200 ? microVnd(body["available_vnd"]) : undefined;
        };
        await until(
          "the payment made during the outage can be spent",
          async () => (await available()) === saved,
        );
        const again = await creditOnce(gatewayOf(1), other, harm.name);
        t.equal(again.status, 200, JSON.stringify(again.body));
        t.equal(await available(), saved);
        const calls = STREAMS + 2 * gateways.length;
        await assertCharged(gatewayOf(1), customer, { microVnd: expected, calls });
      },
    );
  }
});
