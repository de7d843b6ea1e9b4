import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { committedWallet, createCustomer, usage } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { allUsage, assertReconciled, microVnd, noCallsInFlight } from "../support/proof.ts";
import { Random } from "../support/random.ts";
import { until } from "../support/until.ts";

const ROUNDS = 3;
const WORKERS = 12;
const CREDIT_VND = 10_000_000;
const MICRO_VND_PER_TOKEN = 36_000n;
const PATH = "/v1/messages";

/** A call as its client knows it. */
interface Sent {
  readonly id: string;
  /** The cost of the call if it is completed. */
  readonly costMicroVnd: bigint;
  /** True if the whole reply arrived, including its last byte. */
  readonly whole: boolean;
}

let gateway: TestGateway;
const random = Random.printed();

t.before(async () => {
  gateway = await startGateway({ ledger: "embedded", config: { log: { level: "warn" } } });
});
t.teardown(() => gateway.close());

/** Calls without a pause until the gateway is gone; adds what it knows to `sent`. */
async function callOn(key: string, sent: Sent[]): Promise<void> {
  for (;;) {
    const stream = random.chance(0.5);
    const input_tokens = 10 + random.below(500);
    const output_tokens = 1 + random.below(60);
    const pace = stream && random.chance(0.5) ? { event_delay_ms: 1 } : {};
    const body = bodyOf(PATH, { input_tokens, output_tokens, ...pace }, { stream });
    const costMicroVnd = BigInt(input_tokens + output_tokens) * MICRO_VND_PER_TOKEN;
    let id: string | undefined;
    let whole = false;
    try {
      const response = await ask(gateway.url, key, PATH, body);
      if (response.status !== 200) assert.fail(`${response.status}: ${await response.text()}`);
      id = response.headers.get("x-request-id") ?? "";
      const text = await response.text();
      whole = stream ? text.includes("event: message_stop") : text.endsWith("}");
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
    }
    if (id !== undefined) sent.push({ id, costMicroVnd, whole });
    if (!whole) return;
  }
}

t.test("a gateway that is killed repeatedly while it serves", async (t) => {
  t.test(
    "charges each complete reply exactly once, and others for what was delivered at most",
    async (t) => {
      const { key, accountId } = await createCustomer(gateway, { creditVnd: CREDIT_VND });
      const sent: Sent[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const load = Array.from({ length: WORKERS }, () => callOn(key, sent));
        const enough = sent.length + 50 + random.below(200);
        await until("the load has started", () => sent.length >= enough);
        // A random moment on purpose: no event marks the one that would hurt.
        await delay(random.below(30));
        await gateway.kill9();
        await Promise.all(load);
        await gateway.start();
      }
      await noCallsInFlight(gateway);
      // A wallet that is not loaded shows no calls that a start still replays.
      const whole = sent.filter((call) => call.whole);
      await until("the last start has replayed what was posted before", async () => {
        const found = new Set((await allUsage(gateway, accountId)).map(({ call_id }) => call_id));
        return whole.every(({ id }) => found.has(id));
      });
      const { balance, held } = await committedWallet(gateway, accountId);
      t.equal(held, "0");

      const records = new Map<unknown, bigint>();
      let costs = 0n;
      for (const record of await allUsage(gateway, accountId)) {
        t.ok(!records.has(record["call_id"]), `${record["call_id"]} is recorded twice`);
        records.set(record["call_id"], microVnd(record["cost_vnd"]));
        costs += microVnd(record["cost_vnd"]);
      }
      t.comment(`${whole.length} whole of ${sent.length}, ${records.size} recorded`);
      t.ok(whole.length > ROUNDS * WORKERS, "enough calls were completed");
      for (const { id, costMicroVnd } of whole) t.equal(records.get(id), costMicroVnd, id);
      for (const { id, costMicroVnd } of sent.filter((call) => !call.whole)) {
        const charged = records.get(id) ?? 0n;
        t.ok(charged <= costMicroVnd, `${id} was charged ${charged} of ${costMicroVnd}`);
      }
      t.equal(microVnd(CREDIT_VND) - microVnd(balance), costs);
      await assertReconciled(gateway);
    },
  );

  t.test("serves the next customer as before", async (t) => {
    const { key, accountId } = await createCustomer(gateway, { creditVnd: 100 });
    const body = bodyOf(PATH, { input_tokens: 900, output_tokens: 50 });
    const response = await ask(gateway.url, key, PATH, body);
    t.equal(response.headers.get("x-svc-cost-vnd"), "34.2");
    t.equal((await committedWallet(gateway, accountId)).balance, "65.8");
    t.equal((await usage(gateway, accountId)).length, 1);
  });
});
