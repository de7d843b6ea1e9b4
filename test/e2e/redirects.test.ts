import t from "tap";
import { type Customer, committedWallet, createCustomer } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { startOneReplyUpstream } from "../support/one-reply-upstream.ts";
import { post } from "../support/requests.ts";
import { startRoutedGateway } from "../support/routed-gateway.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";

const STATUSES = [300, 301, 302, 303, 304, 307, 308];

t.test("an upstream that redirects", async (t) => {
  let simulator: TestSimulator;
  let gateway: TestGateway;
  let customer: Customer;
  const upstreams: { url: string; stop(): Promise<void> }[] = [];
  t.before(async () => {
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
  t.teardown(async () => {
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
    t.test(
      `with ${status} has failed: neither gateway nor client follows it, and nothing is charged`,
      async (t) => {
        const { balance } = await committedWallet(gateway, customer.accountId);
        const asked = await simulator.stats();
        for (const stream of [false, true]) {
          const refused = await call(`only-${status}`, stream);
          t.equal(refused.status, 502);
          t.equal(refused.json.error.type, "api_error");
          t.match(refused.json.error.message, new RegExp(`HTTP ${status}`));
          t.equal(refused.headers.get("location"), null);
        }
        t.strictSame(await simulator.stats(), asked);
        t.equal((await committedWallet(gateway, customer.accountId)).balance, balance);
      },
    );

    t.test(`with ${status} passes the call to the next route`, async (t) => {
      t.equal((await call(`first-${status}`, false)).status, 200);
    });
  }
});
