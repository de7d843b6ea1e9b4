import t from "tap";
import { billedCall, customerWith } from "../support/billed.ts";
import type { Directive } from "../support/provider/directive.ts";
import { asking, bodies, eventsOf, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** One that speaks Messages, and one that speaks Chat. */
const MODELS = ["claude-opus-5-5", "glm-5.2"];

/** A turn with all kinds of items. */
const TURN: Directive = {
  ...{ thinking: "I think.", text: "Xin chào 🌏" },
  tools: [{ name: "look", arguments: { path: "a" } }, { name: "look" }],
};
const TOOLS = [{ type: "function", name: "look", parameters: { type: "object", properties: {} } }];

/** A reply of the gateway; a missing field fails the assertion that reads it. */
// biome-ignore lint/suspicious/noExplicitAny: replies have many shapes
type Json = any;

const withoutIds = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value, (name, inner: unknown) =>
      ["id", "call_id", "created_at", "encrypted_content"].includes(name) ? undefined : inner,
    ),
  );

t.test("a Responses client on models of other protocols", async (t) => {
  const gateway = await sharedGateway();

  const ask = async (directive: Directive, more: object) => {
    const customer = await customerWith(gateway);
    const body = bodies.responses(directive, more);
    return { customer, reply: await post(gateway, paths.responses, customer, body) };
  };

  for (const model of MODELS) {
    t.test(`${model}: gets a whole reply, and the same as a stream`, async (t) => {
      const more = { model, tools: TOOLS, reasoning: { summary: "auto" }, max_output_tokens: 2048 };
      const { customer, reply } = await ask(TURN, more);
      t.equal(reply.status, 200, reply.text);
      const { json } = reply;
      t.match(json, { object: "response", status: "completed", model, max_output_tokens: 2048 });
      t.match(withoutIds(json.output), [
        { type: "reasoning", summary: [{ type: "summary_text", text: "I think." }] },
        { type: "message", content: [{ type: "output_text", text: "Xin chào 🌏" }] },
        { type: "function_call", name: "look", arguments: '{"path":"a"}' },
        { type: "function_call", name: "look", arguments: "{}" },
      ]);
      const record = await billedCall(gateway, customer);
      t.equal(json.usage.input_tokens, record["input_tokens"]);
      t.equal(json.usage.output_tokens, record["output_tokens"]);

      const { reply: stream } = await ask(TURN, { ...more, stream: true });
      const events = eventsOf(stream.text);
      t.strictSame(
        events.map(({ sequence_number }) => sequence_number),
        events.map((_, at) => at),
      );
      t.strictSame(
        events.slice(0, 2).map(({ type }) => type),
        ["response.created", "response.in_progress"],
      );
      const last = events.at(-1);
      t.equal(last.type, "response.completed");
      t.strictSame(withoutIds(last.response.output), withoutIds(json.output));
      const done = events.filter(({ type }) => type === "response.output_item.done");
      t.strictSame(
        done.map(({ item }) => item),
        last.response.output,
        "each item is whole when it is done",
      );
      const said = (type: string) =>
        events
          .filter((event) => event.type === type)
          .map(({ delta }) => delta)
          .join("");
      t.equal(said("response.output_text.delta"), "Xin chào 🌏");
      t.equal(said("response.function_call_arguments.delta"), '{"path":"a"}{}');
    });

    t.test(`${model}: calls a custom tool in a namespace by its own names`, async (t) => {
      const tools = [
        { type: "namespace", name: "code", tools: [{ type: "custom", name: "run" }] },
        { type: "local_shell" },
      ];
      const directive = { tools: [{ name: "code__run", arguments: { input: 'print("a")\n' } }] };
      for (const stream of [false, true]) {
        const { reply } = await ask(directive, { model, tools, stream });
        t.equal(reply.status, 200, reply.text);
        t.equal(reply.headers.get("x-svc-translate-dropped"), "local_shell");
        const made: Json = stream ? eventsOf(reply.text).at(-1).response : reply.json;
        const call = made.output.find(({ type }: Json) => type === "custom_tool_call");
        t.match(call, { namespace: "code", name: "run", input: 'print("a")\n' });
      }
    });

    t.test(`${model}: a reply at its limit is incomplete`, async (t) => {
      const { reply } = await ask({ output_tokens: 900 }, { model, max_output_tokens: 16 });
      t.match(reply.json, {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
      });
    });

    t.test(`${model}: a refusal is a part of its own, streamed or not`, async (t) => {
      const { reply } = await ask({ refusal: "I cannot." }, { model });
      const refusals = (output: Json[]) =>
        output.flatMap(({ content }) => content ?? []).filter(({ type }) => type === "refusal");
      t.strictSame(refusals(reply.json.output), [{ type: "refusal", refusal: "I cannot." }]);
      const { reply: stream } = await ask({ refusal: "I cannot." }, { model, stream: true });
      const events = eventsOf(stream.text);
      const deltas = events.filter(({ type }) => type === "response.refusal.delta");
      t.equal(deltas.map(({ delta }) => delta).join(""), "I cannot.");
      t.strictSame(refusals(events.at(-1).response.output), refusals(reply.json.output));
    });

    t.test(`${model}: an error has the shape and the numbers of Responses`, async (t) => {
      const error = { message: "no room" };
      const { reply } = await ask({ status: 429, error }, { model });
      t.equal(reply.status, 429);
      t.match(reply.json.error, { message: /takes no more calls/, code: "rate_limit_exceeded" });
      const failing = { text: "one two three four", error_after_events: 5, error };
      const broken = await ask(failing, { model, stream: true });
      const events = eventsOf(broken.reply.text);
      t.match(events.at(-1), { type: "response.failed", response: { status: "failed" } });
      t.equal(events.at(-1).sequence_number, events.length - 1);
      const cut = await ask(
        { text: "one two three four", end_after_events: 5 },
        { model, stream: true },
      );
      const { type, response } = eventsOf(cut.reply.text).at(-1);
      t.match([type, response?.error?.code], ["response.failed", "upstream_truncated"]);
    });

    t.test(`${model}: calls and outputs that do not belong together are refused`, async (t) => {
      const customer = await customerWith(gateway);
      const call = { type: "function_call", call_id: "c1", name: "look", arguments: "{}" };
      const output = { type: "function_call_output", call_id: "c2", output: "ok" };
      for (const [items, words] of [
        [[call], /^input: no tool output found for function call c1$/],
        [[output], /^input\[1\].call_id: no tool call found with call_id c2$/],
      ] as const) {
        const input = [{ role: "user", content: asking({}) }, ...items];
        const reply = await post(gateway, paths.responses, customer, { model, input });
        t.equal(reply.status, 400);
        t.equal(reply.json.error.param, "input");
        t.match(reply.json.error.message, words);
      }
    });
  }

  t.test(
    "a ping of the provider is a comment: many clients end at an event that they do not know",
    async (t) => {
      const more = { model: "claude-opus-5-5", stream: true };
      const { reply } = await ask({ text: "one two", pings: 3 }, more);
      const events = eventsOf(reply.text);
      t.ok(reply.text.split(": ping\n\n").length > 2, reply.text);
      const numbers = events.map(({ sequence_number }) => sequence_number);
      t.strictSame(numbers, [...numbers.keys()]);
      t.notMatch(reply.text, "keepalive");
    },
  );
});
