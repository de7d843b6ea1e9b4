import assert from "node:assert/strict";
import t from "tap";
import { admin, type Customer, createCustomer, usage } from "../../support/admin.ts";
import { ask, bodyOf } from "../../support/ask.ts";
import { SHIPPED_CATALOGUE } from "../../support/catalogue.ts";
import type { TestGateway } from "../../support/gateway.ts";
import { ledgerSql } from "../../support/ledger-sql.ts";
import { startRoutedGateway } from "../../support/routed-gateway.ts";
import { sharedGateway } from "../../support/shared-gateway.ts";
import { startTestSimulator, type TestSimulator } from "../../support/simulator.ts";
import { until } from "../../support/until.ts";
import { runCli } from "../admin/cli-runs.ts";

const PATH = "/v1/messages";
const MODELS = {
  two: [{ behaves: { text: "served well" } }, { behaves: {}, priority: 1 }],
  poor: [{ behaves: { status: 402 } }],
};

t.test("switches of upstreams", async (t) => {
  let simulator: TestSimulator;
  let gateway: TestGateway;
  let customer: Customer;
  t.before(async () => {
    simulator = await startTestSimulator();
    gateway = await startRoutedGateway(simulator, MODELS, {});
    customer = await createCustomer(gateway, { creditVnd: 10_000 });
  });
  t.teardown(async () => {
    await gateway.close();
    await simulator.stop();
  });

  async function command(...args: string[]) {
    const env = { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken };
    const { code, stdout, stderr } = await runCli(["upstream", ...args, "--json"], { env });
    return { code, stderr, json: code === 0 ? JSON.parse(stdout) : undefined };
  }

  /** Makes a call; returns the upstream that served it, or the status. */
  async function served(): Promise<unknown> {
    const body = bodyOf(PATH, { output_tokens: 1 }, { model: "two" });
    const { status } = await ask(gateway.url, customer.key, PATH, body).then(async (reply) => {
      await reply.text();
      return reply;
    });
    if (status !== 200) return status;
    const before = served.count++;
    let records = await usage(gateway, customer.accountId);
    await until("the call is recorded", async () => {
      records = await usage(gateway, customer.accountId);
      return records.length > before;
    });
    return records[0]?.["upstream"];
  }
  served.count = 0;

  const upstreams = async () => {
    const { body } = await admin(gateway, "GET", "/upstreams");
    assert.ok(Array.isArray(body["upstreams"]));
    return body["upstreams"].find(({ name }) => name === "two-0");
  };

  t.test("send no calls to one that is off, over restarts, until it is on", async (t) => {
    t.equal(await served(), "two-0");
    const off = await command("off", "--name", "two-0", "--reason", "outage");
    t.match(off.json, { upstream: "two-0", off: true });
    t.equal(await served(), "two-1");
    t.strictSame((await upstreams()).switched_off, ["all models"]);
    await gateway.kill9();
    await gateway.start();
    t.equal(await served(), "two-1");
    t.equal((await admin(gateway, "POST", "/reload", {})).status, 200);
    t.equal(await served(), "two-1", "after a reload, which makes new upstreams");
    const { body } = await admin(gateway, "GET", "/actions");
    t.match(JSON.stringify(body), /upstreams\/:name\/switch.*outage/);
    t.equal((await command("on", "--name", "two-0", "--reason", "over")).code, 0);
    t.equal(await served(), "two-0");
  });

  t.test("concern one model or one key", async (t) => {
    const model = ["--name", "two-0", "--model", "two", "--reason", "x"];
    t.equal((await command("off", ...model)).code, 0);
    t.equal(await served(), "two-1");
    t.strictSame((await upstreams()).switched_off, ["two-0"]);
    t.equal((await command("on", ...model)).code, 0);
    const [{ key }] = (await upstreams()).keys;
    const last4 = key.slice(1);
    const ofKey = ["--name", "two-0", "--key", last4, "--reason", "x"];
    t.equal((await command("off", ...ofKey)).code, 0);
    t.match((await upstreams()).keys, [{ switched: "off" }]);
    t.equal(await served(), "two-1");
    t.equal((await command("on", ...ofKey)).code, 0);
    t.equal(await served(), "two-0");
  });

  t.test("stay off until the place itself is on, which says what else is off", async (t) => {
    const reason = ["--reason", "x"];
    const on = (...place: string[]) => command("on", "--name", ...place, ...reason);
    t.match((await on("two-0")).stderr, /Nothing of two-0 is off/);
    t.equal((await command("off", "--name", "two-0", "--model", "two", ...reason)).code, 0);
    t.match((await on("two-0")).stderr, /This is not off. Of two-0 are off: --model two-0\./);
    t.equal(await served(), "two-1");
    t.equal((await command("off", "--name", "two-0", ...reason)).code, 0);
    t.match((await on("two-0")).json, { off: false, still_off: ["--model two-0"] });
    t.match((await on("two-0", "--model", "two")).json, { off: false, still_off: [] });
    t.equal(await served(), "two-0");
  });

  t.test("are on again although the config has the place no more", async (t) => {
    const places = [
      ["gone", "", ""],
      ["two-0", "old-model", ""],
      ["two-0", "", "old-key"],
    ];
    const rows = places.map((place) => `('${place.join("','")}')`).join();
    await ledgerSql(gateway, `insert into switched_off (upstream, model, key) values ${rows}`);
    const on = (...place: string[]) => command("on", "--name", ...place, "--reason", "x");
    t.match((await on("gone", "--model", "x")).stderr, /Of gone are off: all of it/);
    t.equal((await on("gone")).code, 0);
    t.match((await on("gone")).stderr, /there is no upstream gone/);
    t.match((await on("two-0", "--key", "none")).stderr, /--key old-key, --model old-model/);
    t.equal((await on("two-0", "--model", "old-model")).code, 0);
    t.equal((await on("two-0", "--key", "old-key")).code, 0);
  });

  t.test("that another gateway has set are found", async (t) => {
    await ledgerSql(
      gateway,
      "insert into switched_off (upstream, model, key) values ('two-0', '', '')",
    );
    await until("it is off here", async () => (await upstreams()).switched_off.length === 1);
    t.equal(await served(), "two-1");
    await ledgerSql(gateway, "delete from switched_off");
    await until("it is on here", async () => (await upstreams()).switched_off.length === 0);
  });

  t.test("name what is wrong", async (t) => {
    for (const [args, error] of [
      [["off", "--name", "none", "--reason", "x"], /there is no upstream none/],
      [
        ["off", "--name", "two-0", "--model", "poor", "--reason", "x"],
        /two-0 has no route for poor/,
      ],
      [["off", "--name", "two-0", "--key", "none", "--reason", "x"], /no key ends with none/],
      [["off", "--name", "two-0"], /needs --reason/],
    ] as const) {
      const { code, stderr } = await command(...args);
      t.not(code, 0);
      t.match(stderr, error);
    }
  });

  t.test("are tried by a real call, which no customer pays", async (t) => {
    const good = await command("try", "--name", "two-0", "--model", "two");
    t.match(good.json, { served: true, status: 200, latency_ms: Number, input_tokens: Number });
    t.ok(Number(good.json.price_vnd) > 0, JSON.stringify(good.json));
    const poor = await command("try", "--name", "poor-0", "--model", "poor");
    t.match(poor.json, { served: false, status: 402, cause: "account", price_vnd: null });
  });
});

t.test(
  "a model that writes no text is not tried, also where its upstream speaks Chat",
  async (t) => {
    const gateway = await sharedGateway({ catalogue: SHIPPED_CATALOGUE });
    for (const model of ["req/gpt-image-2", "gpt-image-2"]) {
      const { status, body } = await admin(gateway, "POST", "/upstreams/openai/try", { model });
      t.equal(status, 400, model);
      t.match(JSON.stringify(body), /only models that write text can be tried/);
    }
  },
);
