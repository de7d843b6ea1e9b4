import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import t from "tap";
import type { OtlpSpan } from "../../../plugins/traces/otlp.ts";
import { type Customer, createCustomer } from "../../support/admin.ts";
import { ask, bodyOf } from "../../support/ask.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { startReceiver, type TestReceiver } from "./receiver.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const REPLY = {
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "gpt",
  choices: [
    { index: 0, message: { role: "assistant", content: "secret reply" }, finish_reason: "stop" },
  ],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
};

t.test("traces", async (t) => {
  let receiver: TestReceiver;
  let provider: Server;
  let gateway: TestGateway;
  let customer: Customer;
  const sent: IncomingHttpHeaders[] = [];
  t.before(async () => {
    receiver = await startReceiver();
    provider = createServer((request, response) => {
      sent.push(request.headers);
      request.resume();
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(REPLY));
    });
    provider.listen(0, "127.0.0.1");
    await once(provider, "listening");
    const address = provider.address();
    const port = typeof address === "object" ? address?.port : 0;
    const chat = `http://127.0.0.1:${port}/v1`;
    gateway = await startGateway({
      config: { upstreams: { openai: { protocols: { chat }, keys: ["k"] } } },
      plugins: { traces: { endpoint: receiver.url, service_name: "tolls" } },
    });
    customer = await createCustomer(gateway, { creditVnd: 1_000 });
  });
  t.teardown(async () => {
    await gateway?.close();
    await receiver?.stop();
    provider?.close();
    provider?.closeAllConnections();
  });

  const call = (key: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key, ...headers },
      body: bodyOf("/v1/chat/completions"),
    });
  const spans = () => receiver.received.flatMap((request) => request.spans);
  const values = ({ attributes }: OtlpSpan) =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

  t.test("of a call go to the receiver, below the client's, and on to the provider", async (t) => {
    const traceparent = `00-${TRACE}-${PARENT}-01`;
    const reply = await call(customer.key, { traceparent, tracestate: "a=1" });
    t.equal(reply.status, 200, await reply.text());
    const id = reply.headers.get("x-request-id");
    const ours = () => spans().filter(({ traceId }) => traceId === TRACE);
    await until("both spans are there", () => ours().length === 2);
    const [outer, inner] = ours();
    if (!outer || !inner) throw new Error("a span is missing");
    t.match(outer, { name: "POST /v1/chat/completions", kind: 2, parentSpanId: PARENT });
    t.match(values(outer), {
      "http.response.status_code": "200",
      "tollgate.call.id": id,
      "tollgate.account.id": customer.accountId,
      "tollgate.outcome": "complete",
    });
    t.match(inner, { kind: 3, parentSpanId: outer.spanId, status: { code: 0 } });
    t.match(values(inner), {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.usage.input_tokens": "7",
      "gen_ai.usage.output_tokens": "3",
    });
    t.equal(inner.name, `chat ${values(inner)["gen_ai.request.model"]}`);
    t.ok(BigInt(inner.startTimeUnixNano) >= BigInt(outer.startTimeUnixNano));
    t.ok(BigInt(inner.endTimeUnixNano) >= BigInt(inner.startTimeUnixNano));
    t.match(sent.at(-1), { traceparent: `00-${TRACE}-${inner.spanId}-01`, tracestate: "a=1" });
    const { text, serviceName } = receiver.received[0] ?? {};
    t.equal(serviceName, "tolls");
    for (const secret of ["hello", "secret reply", customer.key]) t.notMatch(text, secret);
  });

  t.test("are passed on but not recorded if the client says so", async (t) => {
    const other = TRACE.replace("0a", "0b");
    await (await call(customer.key, { traceparent: `00-${other}-${PARENT}-00` })).text();
    t.match(sent.at(-1)?.["traceparent"], new RegExp(`^00-${other}-[0-9a-f]{16}-00$`));
    const before = spans().length;
    await (await call(customer.key)).text();
    await until("the next call is recorded", () => spans().length > before);
    t.equal(spans().filter(({ traceId }) => traceId === other).length, 0);
  });

  t.test("leave out callers without a key, and show refusals of the others", async (t) => {
    const strange = TRACE.replace("0a", "0c");
    await (await call("tg-wrong", { traceparent: `00-${strange}-${PARENT}-01` })).text();
    const poor = await createCustomer(gateway);
    const refused = TRACE.replace("0a", "0d");
    const reply = await call(poor.key, { traceparent: `00-${refused}-${PARENT}-01` });
    t.equal(reply.status, 402, await reply.text());
    const ours = () => spans().filter(({ traceId }) => traceId === refused);
    await until("the refusal is there", () => ours().length > 0);
    t.equal(ours().length, 1, "no upstream was tried");
    const [span] = ours();
    t.match(span && values(span), {
      "http.response.status_code": "402",
      "tollgate.refusal": "insufficient_balance",
    });
    t.equal(spans().filter(({ traceId }) => traceId === strange).length, 0);
  });

  t.test("never harm a call: their receiver fails, and a metric counts the spans", async (t) => {
    receiver.status = 503;
    const replies = await Promise.all(
      Array.from({ length: 20 }, () =>
        ask(gateway.url, customer.key, "/v1/chat/completions", bodyOf("/v1/chat/completions")),
      ),
    );
    for (const reply of replies) t.equal(reply.status, 200, await reply.text());
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    t.match(metrics, /^# TYPE tollgate_trace_spans_total counter$/m);
    t.match(metrics, /^tollgate_trace_spans_total\{result="sent"\} [1-9]/m);
    t.match(metrics, /^tollgate_trace_spans_total\{result="dropped"\} 0$/m);
    receiver.status = 200;
    const count = spans().length;
    await until("the spans arrive later", () => spans().length > count);
  });
});
