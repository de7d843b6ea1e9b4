import assert from "node:assert/strict";
import t from "tap";
import { createCustomer } from "../support/admin.ts";
import { MESSAGES_MODEL } from "../support/ask.ts";
import { assertNotCharged, billedCall, customerWith } from "../support/billed.ts";
import type { TestGateway } from "../support/gateway.ts";
import { noCallsInFlight } from "../support/proof.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";
import { asking, deliveredText, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

let gateway: TestGateway;

t.before(async () => {
  gateway = await sharedGateway();
});

const MODEL = MESSAGES_MODEL;
const LONG = 'dài “quoted” \\ "and"\n so on '.repeat(3_000);
const PROMPT = JSON.stringify(asking({ echo: "raw" }));
const ARGUMENTS = JSON.stringify({ path: "a.ts", text: LONG });
const CALL = { id: "c1", type: "function", function: { name: "write", arguments: ARGUMENTS } };

/** A Chat conversation of some 250 KB that a thread translates. */
const TURNS = [
  { role: "user", content: LONG },
  { role: "assistant", content: null, tool_calls: [CALL] },
  { role: "tool", tool_call_id: "c1", content: LONG },
  { role: "user", content: JSON.parse(PROMPT) },
];
const body = (more: object = {}) =>
  JSON.stringify({ model: MODEL, max_completion_tokens: 5_000, messages: TURNS, ...more });

/** Asserts that the provider got the whole conversation, in Messages. */
function assertWhole(raw: string): void {
  const { messages, model, max_tokens } = JSON.parse(raw);
  assert.equal(model, MODEL);
  assert.equal(max_tokens, 5_000);
  const [said, used, result] = messages;
  assert.equal(said.content[0].text ?? said.content, LONG);
  assert.deepEqual(used.content[0].input, JSON.parse(ARGUMENTS));
  assert.equal(result.content[0].content[0]?.text ?? result.content[0].content, LONG);
}

t.test("a long Chat call on a model of Messages arrives whole, and is charged", async (t) => {
  const customer = await customerWith(gateway, 10_000_000);
  const { status, json, text } = await post(gateway, paths.chat, customer, body());
  t.equal(status, 200, text.slice(0, 300));
  assertWhole(json.choices[0].message.content);
  const billed = await billedCall(gateway, customer);
  t.ok(Number(billed["input_tokens"]) > LONG.length / 10, JSON.stringify(billed));
});

t.test("and streamed", async (t) => {
  const customer = await customerWith(gateway, 10_000_000);
  const { status, text } = await post(gateway, paths.chat, customer, body({ stream: true }));
  t.equal(status, 200);
  assertWhole(deliveredText(text));
});

t.test("a long request that cannot be translated gets its 400, and costs nothing", async (t) => {
  const customer = await customerWith(gateway);
  const { status, json } = await post(gateway, paths.chat, customer, body({ n: 2 }));
  t.equal(status, 400);
  t.match(json.error, { param: "n", type: "invalid_request_error" });
  await noCallsInFlight(gateway);
  await assertNotCharged(gateway, customer);
});

t.test("a long call is held for its whole input: a small wallet gets 402", async (t) => {
  const customer = await createCustomer(gateway, { creditVnd: 100 });
  const { status } = await post(gateway, paths.chat, customer, body());
  t.equal(status, 402);
});

t.test(
  "clients that leave while their bodies are in a thread leave no call and no hold",
  async (t) => {
    const customer = await customerWith(gateway);
    for (let n = 0; n < 8; n++) {
      const client = await RawClient.open(gateway.port);
      await client.send(rawPost(paths.chat, customer.key, Buffer.from(body()), {}));
      client.destroy();
    }
    await noCallsInFlight(gateway);
    const { status } = await post(gateway, paths.chat, customer, body());
    t.equal(status, 200);
  },
);
