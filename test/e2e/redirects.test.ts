import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Customer, committedWallet, createCustomer } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { startOneReplyUpstream } from "../support/one-reply-upstream.ts";
import { post } from "../support/requests.ts";
import { startRoutedGateway } from "../support/routed-gateway.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";

const STATUSES = [300, 301, 302, 303, 304, 307, 308];

describe("an upstream that redirects", () => {
  let simulator: TestSimulator;
  let gateway: TestGateway;
  let customer: Customer;
  const upstreams: { url: string; stop(): Promise<void> }[] = [];
  before(async () => {
    simulator = await startTestSimulator();
    const models: Record<string, { behaves: URL | object; priority: number }[]> = {};
    for (const status of STATUSES) {
      const headers = { location: `${simulator.url}/v1/messages` };
      const upstream = await startOneReplyUpstream({}, { status, headers });
      upstreams.push(upstream);
      const first = { behaves: new URL(upstream.url), priority: 0 };
      models[`only-${status}`] = [first];
      models[`first-${status}`] = [first, { behaves: {}, priority: 1 }];
    }
    gateway = await startRoutedGateway(simulator, models, {});
    customer = await createCustomer(gateway, { creditVnd: 1000 });
  });
  after(async () => {
    await gateway?.close();
    await simulator?.stop();
    for (const upstream of upstreams) await upstream.stop();
  });

  const call = (model: string, stream: boolean) =>
    post(gateway, "/v1/messages", customer, {
      model,
      stream,
      max_tokens: 5,
      messages: [{ role: "user", content: "hello" }],
    });

  for (const status of STATUSES) {
    it(`with ${status} has failed: nobody is sent on, nobody follows, nothing is charged`, async () => {
      const { balance } = await committedWallet(gateway, customer.accountId);
      const asked = await simulator.stats();
      for (const stream of [false, true]) {
        const refused = await call(`only-${status}`, stream);
        assert.equal(refused.status, 502);
        assert.equal(refused.json.error.type, "api_error");
        assert.match(refused.json.error.message, new RegExp(`HTTP ${status}`));
        assert.equal(refused.headers.get("location"), null);
      }
      assert.deepEqual(await simulator.stats(), asked);
      assert.equal((await committedWallet(gateway, customer.accountId)).balance, balance);
    });

    it(`with ${status} leaves the call to the next route`, async () => {
      assert.equal((await call(`first-${status}`, false)).status, 200);
    });
  }
});
