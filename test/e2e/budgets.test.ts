import t from "tap";
import { admin, createCustomer, wallet } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { startGateway } from "../support/gateway.ts";
import { noCallsInFlight } from "../support/proof.ts";
import type { Directive } from "../support/provider/directive.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";
import { until } from "../support/until.ts";

const MB = 1_048_576;
const PATH = "/v1/messages";
const CALLS_MAX = 50;

/** The share that one caller may use, so that others are still served. */
t.test("a gateway with small budgets", async (t) => {
  const gateway = await startGateway({
    config: { limits: { body_mb: 4, bodies_mb: 10, calls_max: CALLS_MAX } },
  });
  const honest = await createCustomer(gateway, { creditVnd: 100_000 });
  t.teardown(() => gateway.close());

  async function served(): Promise<number> {
    const response = await ask(gateway.url, honest.key, PATH, bodyOf(PATH, { output_tokens: 1 }));
    await response.text();
    return response.status;
  }

  /** Opens a connection and sends a head and a part of its body. */
  async function sending(key: string, bytes: number, declared = 4 * MB): Promise<RawClient> {
    const client = await RawClient.open(gateway.port);
    const headers = { "content-length": String(declared) };
    await client.send(rawPost(PATH, key, Buffer.alloc(bytes, 32), headers));
    return client;
  }

  t.test("refuses a long body of an empty wallet before it arrives", async (t) => {
    const { key } = await createCustomer(gateway);
    const client = await sending(key, 0);
    const { status, body } = await client.response();
    t.equal(status, 402);
    t.match(body.toString(), /Top up/);
    client.destroy();
  });

  t.test("keeps no more bodies of one account than its share, and serves the others", async (t) => {
    const { key } = await createCustomer(gateway, { creditVnd: 1_000 });
    const clients: RawClient[] = [];
    for (let n = 0; n < 4; n++) clients.push(await sending(key, 2 * MB));
    const refused = () => clients.filter((client) => client.pending.length > 0);
    await until("all but one are refused", () => refused().length === 3);
    for (const client of refused()) {
      const { status, body } = await client.response();
      t.equal(status, 429);
      t.match(body.toString(), /of this account are served/);
    }
    t.equal(await served(), 200);
    for (const client of clients) client.destroy();
    await noCallsInFlight(gateway);
    const again = await sending(key, 2 * MB);
    await again.send(Buffer.alloc(2 * MB, 32));
    t.equal((await again.response()).status, 400, "its share is free again");
    again.destroy();
  });

  t.test("serves short calls while long ones take the whole budget", async (t) => {
    const clients: RawClient[] = [];
    for (let n = 0; n < 3; n++) {
      const { key } = await createCustomer(gateway, { creditVnd: 1_000 });
      clients.push(await sending(key, 3.5 * MB));
    }
    const refused = () => clients.find((client) => client.pending.length > 0);
    await until("one of them is refused", () => refused() !== undefined);
    t.equal((await refused()?.response())?.status, 503);
    t.equal(await served(), 200);
    for (const client of clients) client.destroy();
    await noCallsInFlight(gateway);
  });

  t.test("counts a body until its call has ended, whichever key sends it", async (t) => {
    const { accountId, key } = await createCustomer(gateway, { creditVnd: 100_000 });
    const { body } = await admin(gateway, "POST", `/accounts/${accountId}/keys`, { name: "b" });
    const other = String(body["key"]);
    const space = " ".repeat(3 * MB);
    const long = (by: string, directive: Directive = {}) =>
      ask(gateway.url, by, PATH, bodyOf(PATH, { output_tokens: 1, ...directive }) + space);
    const asked = async () => (await gateway.simulator.stats())[PATH]?.["calls"] ?? 0;
    const before = await asked();
    const first = long(key, { delay_ms: 60_000, until: "the test" });
    await until("the provider has it", async () => (await asked()) > before);
    const refused = await long(other);
    t.equal(refused.status, 429);
    t.equal(refused.headers.get("retry-after"), "1");
    t.match(await refused.text(), /of this account are served/);
    t.equal(await served(), 200);
    await gateway.simulator.release("the test");
    await (await first).text();
    await noCallsInFlight(gateway);
    t.equal((await long(other)).status, 200, "its share is free again");
  });

  t.test("gives no place to requests without a key whose body never ends", async (t) => {
    const head = `POST ${PATH} HTTP/1.1\r\nhost: g\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
    const strangers = await Promise.all(
      Array.from({ length: CALLS_MAX + 10 }, async () => {
        const client = await RawClient.open(gateway.port);
        await client.send(`${head}1\r\n{\r\n`);
        return client;
      }),
    );
    t.equal(await served(), 200);
    // Each gets its reply although its body has not ended, and is cut.
    const [first] = strangers;
    t.equal((await first?.response())?.status, 401);
    await Promise.all(strangers.map((client) => client.closed));
    await noCallsInFlight(gateway);
  });

  for (const [what, value] of [
    ["numbers", "0,"],
    ["empty objects", "{},"],
  ] as const) {
    t.test(`refuses 4 MB of ${what} without parsing them`, async (t) => {
      const { key } = await createCustomer(gateway, { creditVnd: 1_000 });
      const list = value.repeat((3.9 * MB) / value.length);
      const body = `{"model":"opus","max_tokens":1,"messages":[],"a":[${list}0]}`;
      const response = await ask(gateway.url, key, PATH, body);
      t.equal(response.status, 413);
      t.match(await response.text(), /too many names and values/);
    });
  }

  t.test("refuses a form of very many parts", async (t) => {
    const { key, accountId } = await createCustomer(gateway, { creditVnd: 1_000 });
    const part = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n';
    const response = await fetch(`${gateway.url}/v1/images/edits`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "multipart/form-data; boundary=b",
      },
      body: `${part.repeat(50_000)}--b--\r\n`,
    });
    t.equal(response.status, 413);
    t.match(await response.text(), /too many parts/);
    await until("nothing is held", async () => (await wallet(gateway, accountId)).held === "0");
  });
});
