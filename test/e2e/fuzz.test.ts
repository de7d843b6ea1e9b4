import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import t from "tap";
import { type Customer, committedWallet, createCustomer } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import {
  allUsage,
  assertReconciled,
  memoryMb,
  microVnd,
  noCallsInFlight,
  spent,
} from "../support/proof.ts";
import { Random } from "../support/random.ts";
import { RawClient } from "../support/raw-client.ts";
import { type HostileRequest, HostileRequests, malformed } from "./hostile-requests.ts";

const WELL_FORMED = 7_000;
const MALFORMED = 3_000;
const CREDIT_VND = 50_000_000;
const MARKER = "a-prompt-that-nobody-may-log";
/** A 20 MB upload briefly exists twice, as bytes and as text, while a parser works on it. */
const MEMORY_MB_MAX = 400;

let gateway: TestGateway;
let customer: Customer;
/** This customer's key is only in malformed requests, and so is never charged. */
let victim: Customer;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
const random = Random.printed();
let costMicroVnd = 0n;
let streams = 0;

t.before(async () => {
  gateway = await startGateway();
  customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  victim = await createCustomer(gateway, { creditVnd: CREDIT_VND });
});
t.teardown(async () => {
  agent.destroy();
  await gateway.close();
});

/** Runs `work` `times` times, sixteen at a time. */
async function crowd(times: number, work: () => Promise<void>): Promise<void> {
  let left = times;
  const worker = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

async function send({ method, path, headers, body }: HostileRequest): Promise<IncomingMessage> {
  const port = gateway.port;
  const sent = request({
    agent,
    port,
    method,
    path,
    headers: { ...headers, "content-length": body.length },
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

/** Adds up the cost of a complete reply; returns its status. */
async function account(asked: HostileRequest): Promise<number> {
  const response = await send(asked);
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const cost = response.headers["x-svc-cost-vnd"];
  if (cost !== undefined) {
    assert.equal(response.statusCode, 200, "only a served call has a cost");
    costMicroVnd += microVnd(cost);
  } else if (response.headers["content-type"]?.startsWith("text/event-stream")) streams++;
  const status = response.statusCode ?? 0;
  if (status >= 400) {
    const text = Buffer.concat(chunks).toString();
    assert.ok(text === "" || text.includes('"message"'), `${status}: ${text}`);
    assert.ok(!text.includes(customer.key), text);
  }
  return status;
}

t.test("10,000 hostile requests", async (t) => {
  t.test("each get a status that says what is wrong, and never a 500", async (t) => {
    const requests = new HostileRequests(random, customer.key, MARKER);
    const statuses = new Map<number, number>();
    await crowd(WELL_FORMED, async () => {
      const asked = requests.next();
      const status = await account(asked);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const shown = () => `${asked.method} ${asked.path} ${asked.body.toString().slice(0, 600)}`;
      if (status === 500) t.fail(shown());
    });
    const counts = Array.from(statuses, ([status, count]) => `${count} x ${status}`);
    t.comment(`${counts.sort().join(", ")}`);
  });

  t.test("that are no HTTP end their own connection and charge nothing", async () => {
    const body = bodyOf("/v1/messages", { output_tokens: 7 });
    await crowd(MALFORMED, async () => {
      const client = await RawClient.open(gateway.port);
      await client.send(malformed(random, victim.key, body));
      if (random.chance(0.5)) client.socket.end();
      else client.reset();
      await client.closed;
    });
  });

  t.test("of 20 MB of brackets, or 100,000 levels deep, are refused", async (t) => {
    const path = "/v1/chat/completions";
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    const shells = [
      "[".repeat(20 * 1_048_576),
      '{"a":'.repeat(4_000_000),
      deep,
      bodyOf(path).replace('"hello', `"${MARKER}`).replace("{", `{"x":${deep},`),
      bodyOf(path).replace("{", `{"tools":[{"type":"function","function":${deep}}],`),
      bodyOf(path).replace("{", `{"x":${"[".repeat(100_000)}${"]".repeat(100_000)},`),
    ];
    for (const shell of shells) {
      const response = await ask(gateway.url, customer.key, path, shell);
      t.equal(response.status, 400, shell.slice(0, 200));
      await response.text();
    }
  });

  t.test("leave the gateway running, and serving others", async (t) => {
    const body = bodyOf("/v1/messages", { output_tokens: 3 });
    const response = await ask(gateway.url, customer.key, "/v1/messages", body);
    t.equal(response.status, 200);
    costMicroVnd += microVnd(response.headers.get("x-svc-cost-vnd"));
    await response.text();
  });

  t.test("leave no open call and nothing held", async (t) => {
    await noCallsInFlight(gateway);
    t.equal((await committedWallet(gateway, customer.accountId)).held, "0");
    t.equal((await committedWallet(gateway, victim.accountId)).held, "0");
    await assertReconciled(gateway);
  });

  t.test("are charged for replies with 200 and for nothing else", async (t) => {
    const records = await allUsage(gateway, customer.accountId);
    const charged = records.filter((record) => record["cost_vnd"] !== "0");
    for (const record of charged) t.equal(record["status"], 200);
    // The head of a text stream cannot state the cost; that of audio does.
    const text = charged.filter((record) => record["endpoint"] !== "/v1/audio/speech");
    const streamed = text.filter((record) => record["streamed"] === true);
    t.ok(streamed.length <= streams, `${streamed.length} streams charged, ${streams} answered`);
    let streamCosts = 0n;
    for (const record of streamed) streamCosts += microVnd(record["cost_vnd"]);
    const taken = await spent(gateway, customer.accountId, CREDIT_VND);
    t.equal(taken, costMicroVnd + streamCosts);
    t.equal(await spent(gateway, victim.accountId, CREDIT_VND), 0n);
  });

  t.test("leave no prompt, no key and no trace of a bug in the logs", async (t) => {
    const { logs } = gateway;
    t.ok(!logs.includes(MARKER));
    for (const { key } of [customer, victim]) t.ok(!logs.includes(key.slice(0, 20)));
    t.notMatch(logs, /a plugin failed|unhandled rejection/);
  });

  t.test("leave the gateway's memory bounded", async (t) => {
    const most = await memoryMb(gateway, "VmHWM");
    t.comment(`at most ${Math.round(most)} MB`);
    t.ok(most < MEMORY_MB_MAX, `${most} MB`);
  });
});
