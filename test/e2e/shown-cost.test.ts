import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import t from "tap";
import type { Customer } from "../support/admin.ts";
import { billedCalls, customerWith } from "../support/billed.ts";
import type { TestGateway } from "../support/gateway.ts";
import type { Directive } from "../support/provider/directive.ts";
import { bodies, eventsOf, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const WITH_COST = { "x-svc-include-cost": "1" };
/** The field as it stands in a reply, and before it, unless the usage had been empty, a comma. */
const FIELD = /,?"cost_vnd":"([\d.]+)"/g;
const STREAMED = { stream: true };
const WITH_USAGE = { stream: true, stream_options: { include_usage: true } };
const MODELS = ["claude-opus-5-5", "gpt-4.1-nano", "gemini-3.5-flash"] as const;
const PROTOCOLS = ["messages", "chat", "responses"] as const;

let gateway: TestGateway;
let customer: Customer;
t.before(async () => {
  gateway = await sharedGateway();
});
t.beforeEach(async () => {
  customer = await customerWith(gateway);
});

/** Returns the costs that a text states. */
const costsIn = (text: string) => Array.from(text.matchAll(FIELD), ([, cost]) => cost);

/** Returns what the ledger has charged for each call, by the id of its reply. */
async function charges(count: number): Promise<Map<unknown, unknown>> {
  const records = await billedCalls(gateway, customer, count);
  return new Map(records.map((record) => [record["call_id"], record["cost_vnd"]]));
}

/** A call with the header, and the same one without, which asks for usage by itself. */
async function both(protocol: (typeof PROTOCOLS)[number], directive: Directive, more: object) {
  const body = bodies[protocol](directive, more);
  const asked = protocol === "chat" && "stream" in more ? { ...body, ...WITH_USAGE } : body;
  const priced = await post(gateway, paths[protocol], customer, body, WITH_COST);
  const plain = await post(gateway, paths[protocol], customer, asked);
  return { priced, plain };
}

/** A reply without what differs between equal calls of a translated protocol: ids and times. */
const constant = (text: string) =>
  text
    .replace(/"(created|created_at|completed_at)":\d+/g, "")
    .replace(/(?:chatcmpl|resp|msg|rs|item)[_-][\w-]+/g, "ID");

t.test("the usage states the ledger's charge, and other bytes stay as they are", async (t) => {
  const stated: (readonly [what: string, id: string | null, cost: unknown])[] = [];
  for (const protocol of PROTOCOLS) {
    for (const model of MODELS) {
      for (const more of [{}, STREAMED]) {
        const what = `${protocol}, ${model}, ${JSON.stringify(more)}`;
        const text = 'Xin chào 🌏 "usage":{}';
        const { priced, plain } = await both(
          protocol,
          { text, output_tokens: 7 },
          { model, ...more },
        );
        t.strictSame([priced.status, plain.status], [200, 200], what);
        const costs = costsIn(priced.text);
        t.equal(costs.length, 1, what);
        t.strictSame(costsIn(plain.text), [], what);
        t.equal(constant(priced.text.replace(FIELD, "")), constant(plain.text), what);
        stated.push([what, priced.headers.get("x-request-id"), costs[0]]);
        const header = priced.headers.get("x-svc-cost-vnd");
        t.equal(header, "stream" in more ? null : costs[0], what);
      }
    }
  }
  const charged = await charges(2 * stated.length);
  for (const [what, id, cost] of stated) {
    t.ok(Number(cost) > 0, what);
    t.equal(cost, charged.get(id), what);
  }
});

t.test("the last usage of a stream states it, however often usage comes", async (t) => {
  const odd: readonly (readonly [(typeof PROTOCOLS)[number], Directive])[] = [
    ["chat", { usage: "every_chunk" }],
    ["chat", { usage: "with_finish" }],
    ["chat", { usage: "with_finish", comments: 1 }],
    ["messages", { usage: "late", pings: 2 }],
    ["messages", { eol: "\r\n", split_bytes: 7 }],
    ["responses", { eol: "\r\n", coalesce: true }],
  ];
  const ids: unknown[] = [];
  for (const [protocol, directive] of odd) {
    const { priced, plain } = await both(protocol, directive, STREAMED);
    const what = `${protocol} ${JSON.stringify(directive)}`;
    t.equal(costsIn(priced.text).length, 1, what);
    t.equal(constant(priced.text.replace(FIELD, "")), constant(plain.text), what);
    const usages = eventsOf(priced.text.replace(/\r\n?/g, "\n")).map(
      (event) => event.usage ?? event.response?.usage,
    );
    const last = usages.filter((usage) => usage).at(-1);
    t.strictSame(costsIn(priced.text), [last.cost_vnd], what);
    ids.push([priced.headers.get("x-request-id"), last.cost_vnd]);
  }
  const charged = await charges(2 * odd.length);
  for (const [id, cost] of ids as [string, string][]) t.equal(cost, charged.get(id));
});

t.test("nothing states it that has none", async (t) => {
  for (const protocol of PROTOCOLS) {
    const refused = await both(protocol, { status: 400 }, {});
    t.strictSame([refused.priced.status, costsIn(refused.priced.text)], [400, []], protocol);
    const other = await post(gateway, paths[protocol], customer, bodies[protocol](), {
      "x-svc-include-cost": "0",
    });
    t.strictSame([other.status, costsIn(other.text)], [200, []], protocol);
  }
  const missing = await post(
    gateway,
    paths.chat,
    customer,
    bodies.chat({ usage: "missing" }),
    WITH_COST,
  );
  t.equal(missing.status, 200);
  t.strictSame(costsIn(missing.text), []);
  t.ok(Number(missing.headers.get("x-svc-cost-vnd")) > 0);
  const image = await post(gateway, paths.images, customer, bodies.images(), WITH_COST);
  t.strictSame([image.status, costsIn(image.text)], [200, []]);
});

t.test("a stream that breaks loses no event by it", async (t) => {
  for (const protocol of PROTOCOLS) {
    const { priced, plain } = await both(
      protocol,
      { usage: protocol === "chat" ? "every_chunk" : "normal", end_after_events: 4 },
      STREAMED,
    );
    t.equal(constant(priced.text), constant(plain.text), protocol);
    t.match(priced.text, /error/);
  }
});

t.test("the official clients pass it on", async (t) => {
  const options = { apiKey: customer.key, maxRetries: 0, defaultHeaders: WITH_COST };
  const anthropic = new Anthropic({ baseURL: gateway.url, ...options });
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, ...options });
  const costs: unknown[] = [];
  const add = (usage: object | null | undefined) => {
    costs.push((usage as { cost_vnd?: unknown } | undefined)?.cost_vnd);
  };
  add((await anthropic.messages.create(bodies.messages())).usage);
  // The sum that this client makes of a stream has known fields only; the event has all.
  for await (const event of anthropic.messages.stream(bodies.messages())) {
    if (event.type === "message_delta") add(event.usage);
  }
  add((await openai.chat.completions.create(bodies.chat())).usage);
  for await (const chunk of await openai.chat.completions.create({
    ...bodies.chat(),
    stream: true,
  })) {
    if (chunk.usage) add(chunk.usage);
  }
  add((await openai.responses.create(bodies.responses())).usage);
  add((await openai.responses.stream(bodies.responses()).finalResponse()).usage);
  const charged = [...(await charges(6)).values()];
  t.strictSame([...costs].sort(), charged.sort());
});

t.test(
  "a reply that is not streamed has the headers whatever name of JSON its provider has",
  async (t) => {
    const usage = { prompt_tokens: 300, completion_tokens: 10, total_tokens: 310 };
    const reply = {
      choices: [{ index: 0, message: { content: "a" }, finish_reason: "stop" }],
      usage,
    };
    for (const reply_type of ["text/json", "application/vnd.api+json", "Application/JSON"]) {
      const body = bodies.chat({ reply, reply_type });
      const { headers, text } = await post(gateway, paths.chat, customer, body, WITH_COST);
      t.match(headers.get("content-type"), /^application\/json/, reply_type);
      t.equal(headers.get("x-svc-cost-vnd"), costsIn(text)[0], reply_type);
    }
  },
);
