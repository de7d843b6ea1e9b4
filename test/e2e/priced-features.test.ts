import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import t from "tap";
import { billedCall, billedCalls, customerWith } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { startOneReplyUpstream } from "../support/one-reply-upstream.ts";
import { bodies, paths, post } from "../support/requests.ts";
import { until } from "../support/until.ts";

const PRICE_VND_PER_MTOK = 36_000;
const MODEL = "claude-opus-5-5";
/** As recorded of a real provider: most of the input comes from the pages that were found. */
const INPUT_TOKENS = 404_500;
const OUTPUT_TOKENS = 900;
const SEARCHES = 3;
const FEE_VND = 360;
const SEARCH = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
const CALL_VND =
  ((INPUT_TOKENS + OUTPUT_TOKENS) * PRICE_VND_PER_MTOK) / 1_000_000 + SEARCHES * FEE_VND;

/** The reply of xAI to each protocol, with uses of its own tools. */
async function startToolsUpstream() {
  const response = {
    id: "resp_1",
    object: "response",
    status: "completed",
    output: [
      { type: "web_search_call", id: "ws_1", status: "completed" },
      { type: "shell_call", id: "sh_1", environment: { type: "local" } },
      { type: "image_generation_call", id: "ig_1", status: "completed", result: "" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "found" }] },
    ],
    usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
  };
  const usage = { prompt_tokens: 10, completion_tokens: 2, num_server_side_tools_used: 2 };
  const choices = [
    { index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" },
  ];
  const server = createServer(async (request, reply) => {
    const { stream } = JSON.parse(await text(request));
    if (request.url?.endsWith("/chat/completions")) {
      return reply.end(JSON.stringify({ object: "chat.completion", choices, usage }));
    }
    if (!stream) return reply.end(JSON.stringify(response));
    const event = { type: "response.completed", response };
    reply.writeHead(200, { "content-type": "text/event-stream" });
    reply.end(`event: response.completed\ndata: ${JSON.stringify(event)}\n\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

let gateway: TestGateway;
let upstream: Awaited<ReturnType<typeof startOneReplyUpstream>>;
/** A provider that runs tools which no request asks for. */
let tools: Awaited<ReturnType<typeof startToolsUpstream>>;
t.before(async () => {
  upstream = await startOneReplyUpstream({
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "found" }],
    stop_reason: "end_turn",
    usage: {
      input_tokens: INPUT_TOKENS,
      output_tokens: OUTPUT_TOKENS,
      server_tool_use: { web_search_requests: SEARCHES },
    },
  });
  tools = await startToolsUpstream();
  gateway = await startGateway({
    config: {
      upstreams: {
        xai: { protocols: { chat: tools.url, responses: tools.url } },
        anthropic: {
          protocols: { messages: upstream.url },
          features: {
            web_search: { fees: FEE_VND, hold_tokens: 50_000, hold_uses: 5 },
            fast_mode: { factor: 1.5 },
            files: { i_accept_shared_ids: true },
          },
        },
        openai: { features: { priority: { factor: 2 } } },
      },
    },
  });
});
t.teardown(async () => {
  await gateway.close();
  await upstream.stop();
  tools.stop();
});

t.test("a feature that the config prices", async (t) => {
  t.test("is charged by the uses that the provider reports", async (t) => {
    const customer = await customerWith(gateway);
    const body = bodies.messages({}, { model: MODEL, ...SEARCH });
    const answer = await post(gateway, paths.messages, customer, body);
    t.equal(answer.status, 200, answer.text);
    t.equal(answer.headers.get("x-svc-left-out"), null);
    t.equal(answer.headers.get("x-svc-cost-vnd"), String(CALL_VND));
    const record = await billedCall(gateway, customer);
    t.equal(record["cost_vnd"], String(CALL_VND));
    t.equal(record["fees_vnd"], String(SEARCHES * FEE_VND));
  });

  t.test("with a factor changes the unit price, and the header shows it", async (t) => {
    const customer = await customerWith(gateway);
    const body = bodies.chat({ echo: true }, { model: "gpt-4.1-nano", service_tier: "priority" });
    const plain = await post(gateway, paths.chat, customer, { ...body, service_tier: "auto" });
    const fast = await post(gateway, paths.chat, customer, body);
    const price = (name: string) =>
      [plain, fast].map(({ headers }) => Number(headers.get(`x-svc-${name}`)));
    const [usual = 0, doubled] = price("price-vnd-per-mtok");
    t.ok(usual > 0);
    t.equal(doubled, 2 * usual);
    const [, cost = 0] = price("cost-vnd");
    const tokens =
      Number(fast.headers.get("x-svc-input-tokens")) +
      Number(fast.headers.get("x-svc-output-tokens"));
    t.equal(cost, (tokens * 2 * usual) / 1_000_000);
    t.match(fast.text, /service_tier\\":\\"priority/, "and it goes upstream");
  });

  t.test("is refused on an upstream that does not sell it", async (t) => {
    const customer = await customerWith(gateway);
    const body = bodies.chat({}, { model: "gpt-4.1-nano", web_search_options: {} });
    t.equal((await post(gateway, paths.chat, customer, body)).status, 400);
  });

  t.test("and reads state by its id is sold if the operator accepts shared ids", async (t) => {
    const customer = await customerWith(gateway);
    const content = [{ type: "document", source: { type: "file", file_id: "f" } }];
    const body = bodies.messages({}, { model: MODEL, messages: [{ role: "user", content }] });
    t.equal((await post(gateway, paths.messages, customer, body)).status, 200);
  });
});

t.test("uses that a provider reports and that are not sold", async (t) => {
  const errors = () =>
    gateway.logTail
      .split("\n")
      .filter((line) => line.includes("features that are not sold"))
      .map((line) => JSON.parse(line));
  const model = "grok-4.5";
  for (const [protocol, body, uses] of [
    ["chat", bodies.chat({}, { model }), { web_search: 2 }],
    ["responses", bodies.responses({}, { model }), { web_search: 1, image_generation: 1 }],
    [
      "responses",
      bodies.responses({}, { model, stream: true }),
      { web_search: 1, image_generation: 1 },
    ],
  ] as const) {
    const customer = await customerWith(gateway);
    const before = errors().length;
    const answer = await post(gateway, paths[protocol], customer, body);
    t.equal(answer.status, 200, answer.text);
    const record = await billedCall(gateway, customer);
    t.match(record, { input_tokens: 10, output_tokens: 2, fees_vnd: "0" });
    await until("it is logged", () => errors().length > before);
    t.match(errors().at(-1), { level: 50, model, upstream: "xai", uses });
    t.strictSame(errors().at(-1).uses, uses);
  }
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  t.match(metrics, /unsold_uses_total\{endpoint="\/v1\/responses",model="grok-4.5"\} 2\n/);
  t.match(metrics, /unsold_uses_total\{endpoint="\/v1\/chat\/completions",model="grok-4.5"\} 1\n/);
  t.notMatch(metrics, /unsold_uses_total\{[^}]*model="claude-opus-5-5"\} [1-9]/, "those are sold");
});

t.test("100 searches at once on 50,000 đ", async (t) => {
  const credit = 50_000;
  const customer = await customerWith(gateway, credit);
  const body = bodies.messages({}, { model: MODEL, ...SEARCH });
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => post(gateway, paths.messages, customer, body)),
  );
  const served = answers.filter(({ status }) => status === 200).length;
  const statuses = [...new Set(answers.map(({ status }) => status))].sort();
  t.ok(served >= 1, `${statuses}`);
  t.ok(
    statuses.every((status) => [200, 402, 429].includes(status)),
    `${statuses}`,
  );
  await billedCalls(gateway, customer, served);
  const excess = served * CALL_VND - credit;
  t.ok(excess <= CALL_VND, `the operator pays at most one call: ${excess} đ`);

  // One after the other, until the wallet is empty: the last one may exceed it, no other.
  for (let call = served; call < 10; call++) {
    const { status } = await post(gateway, paths.messages, customer, body);
    if (status !== 200) {
      t.equal(status, 402);
      break;
    }
    t.ok((call + 1) * CALL_VND - credit <= CALL_VND, "the operator pays at most one call");
  }
});
