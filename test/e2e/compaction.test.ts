import t from "tap";
import { assertNotCharged, billedCall, billedCalls, customerWith } from "../support/billed.ts";
import { SHIPPED_CATALOGUE } from "../support/catalogue.ts";
import type { Directive } from "../support/provider/directive.ts";
import { asking, eventsOf, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** A model of each way out: Messages, Chat, and Responses of a maker that knows no trigger. */
const MODELS = ["claude-opus-5-5", "deepseek-v4-pro", "gemini-3.5-flash", "grok-4.5"];

const SUMMARY = "The user builds a parser in src/parse.ts; the tests are left.";
/** More than the first slice of a hold. */
const LONG = "It builds a parser. ".repeat(400);
const TOOLS = [{ type: "function", name: "look", parameters: { type: "object" } }];
const CODEX = { tools: TOOLS, tool_choice: "auto", store: false, reasoning: { summary: "auto" } };

/** The request of an agent whose context is full, after a call of a tool. */
function full(model: string, directive: Directive): Readonly<Record<string, unknown>> {
  const called = { call_id: "call_1", name: "look", arguments: "{}" };
  return {
    ...{ ...CODEX, model },
    input: [
      { role: "developer", content: "You are an agent." },
      { role: "user", content: asking(directive, "build a parser") },
      { type: "function_call", ...called },
      { type: "function_call_output", call_id: "call_1", output: "nothing there" },
      // The directive counts only if it stands after the last turn of the model.
      { role: "user", content: asking(directive, "go on") },
      { type: "compaction_trigger" },
    ],
  };
}

function later(model: string, item: unknown): Readonly<Record<string, unknown>> {
  const echo = asking({ echo: true }, "what is left?");
  return { ...CODEX, model, input: [item, { role: "user", content: echo }] };
}

t.test("a compaction", async (t) => {
  const gateway = await sharedGateway({ catalogue: SHIPPED_CATALOGUE });

  for (const model of MODELS) {
    t.test(`${model}: one sealed item, which every other model reads`, async (t) => {
      const customer = await customerWith(gateway);
      const request = full(model, { text: SUMMARY, thinking: "I look back." });
      const streamed = await post(gateway, paths.responses, customer, { ...request, stream: true });
      const events = eventsOf(streamed.text);
      const items = events.filter(({ type }) => type === "response.output_item.done");
      const last = events.at(-1);
      t.equal(last.type, "response.completed", streamed.text.slice(0, 500));
      t.strictSame(
        items.map(({ item }) => item.type),
        ["compaction"],
      );
      t.strictSame(last.response.output, [items[0]?.item]);
      t.ok(last.response.usage.output_tokens > 0, "the summary is charged");
      t.notMatch(streamed.text, "parser in src", "its text is not shown");

      const whole = await post(gateway, paths.responses, customer, request);
      t.equal(whole.status, 200, whole.text);
      t.strictSame(
        whole.json.output.map(({ type }: { type: string }) => type),
        ["compaction"],
      );
      t.ok(Number(whole.headers.get("x-svc-cost-vnd")) > 0);

      for (const item of [items[0]?.item, whole.json.output[0]]) {
        for (const other of ["claude-sonnet-5", "gemini-3.5-flash", "gpt-5.6-sol", "grok-4.5"]) {
          const read = await post(gateway, paths.responses, customer, later(other, item));
          t.equal(read.status, 200, `${other}: ${read.text}`);
          const said = JSON.stringify(read.json.output);
          t.match(said, "parser in src", `${other} reads the summary`);
          t.notMatch(said, "tgs1.", "and not its seal");
        }
      }
    });
  }

  for (const [model, ...directives] of [
    ["claude-opus-5-5", { refusal: "I will not." }, { text: LONG, stop: "refusal" }, { text: "" }],
    ["deepseek-v4-pro", { refusal: "I will not." }, { text: LONG, stop: "content_filter" }],
    ["gemini-3.5-flash", { text: "" }, { text: LONG, stop: "content_filter" }],
    ["glm-5.2", { text: "", thinking: LONG }],
    ["grok-4.5", { refusal: "I will not." }, { text: "", thinking: LONG }],
  ] as const) {
    t.test(`${model}: a refusal or no text is no summary, and costs nothing`, async (t) => {
      const customer = await customerWith(gateway);
      for (const directive of directives) {
        const request = full(model, directive);
        const whole = await post(gateway, paths.responses, customer, request);
        t.equal(whole.status, 502, whole.text);
        t.match(whole.json.error.message, "no summary");
        t.equal(whole.headers.get("x-svc-cost-vnd"), null);
        const stream = await post(gateway, paths.responses, customer, { ...request, stream: true });
        t.match(stream.text, "no summary");
        t.notMatch(stream.text, "response.completed");
        t.notMatch(stream.text, "tgs1.");
      }
      const records = await billedCalls(gateway, customer, 2 * directives.length);
      t.strictSame([...new Set(records.map(({ outcome }) => outcome))], ["broken", "refused"]);
      await assertNotCharged(gateway, customer);
    });
  }

  for (const model of MODELS) {
    t.test(`${model}: a summary that breaks off costs nothing`, async (t) => {
      const customer = await customerWith(gateway);
      const faults = [
        { cut_after_events: -3 },
        { end_after_events: -3 },
        { error_after_events: -3, error: { message: "Overloaded." } },
      ];
      for (const fault of faults) {
        const request = full(model, { text: LONG, ...fault });
        const stream = await post(gateway, paths.responses, customer, { ...request, stream: true });
        t.notMatch(stream.text, "response.completed");
        t.notMatch(stream.text, "tgs1.");
        t.match(eventsOf(stream.text).at(-1), { type: /^(error|response\.failed)$/ });
      }
      await billedCalls(gateway, customer, faults.length);
      await assertNotCharged(gateway, customer);
    });
  }

  t.test("a low limit of the client does not end the thinking before it", async (t) => {
    const customer = await customerWith(gateway);
    for (const stream of [false, true]) {
      const { text } = await post(gateway, paths.responses, customer, {
        ...full("claude-opus-5-5", { text: SUMMARY, thinking: "I look back. ".repeat(40) }),
        ...{ max_output_tokens: 16, stream },
      });
      t.match(text, '"type":"compaction"');
    }
  });

  t.test("the model may call no tool for it, and its history stays", async (t) => {
    const customer = await customerWith(gateway);
    const { json, text } = await post(
      gateway,
      paths.responses,
      customer,
      full("claude-opus-5-5", { echo: true }),
    );
    const read = await post(
      gateway,
      paths.responses,
      customer,
      later("deepseek-v4-pro", json.output?.[0]),
    );
    const said = JSON.stringify(read.json.output ?? text).replaceAll("\\", "");
    t.match(said, '"tool_choice":{"type":"none"}');
    t.match(said, '"name":"look"');
    t.match(said, "nothing there");
    t.match(said, "Reply with the summary alone");
  });

  t.test("one that the wallet does not cover costs what its model wrote", async (t) => {
    const customer = await customerWith(gateway, "30");
    const request = full("deepseek-v4-pro", { output_tokens: 50_000, ignore_max_tokens: true });
    const cut = await post(gateway, paths.responses, customer, { ...request, stream: true });
    const [error, failed] = eventsOf(cut.text).slice(-2);
    t.match(error, { type: "error", code: "insufficient_balance" }, cut.text.slice(0, 500));
    t.match(failed, {
      type: "response.failed",
      response: { error: { code: "insufficient_quota" } },
    });
    const record = await billedCall(gateway, customer);
    t.match(record, { outcome: "exhausted", status: 200, estimated: true });
    const cost = Number(record["cost_vnd"]);
    t.ok(cost > 20 && cost <= 30, JSON.stringify(record));
  });

  t.test("no other account's is read, and none that was changed", async (t) => {
    const [owner, other] = [await customerWith(gateway), await customerWith(gateway)];
    const made = await post(
      gateway,
      paths.responses,
      owner,
      full("claude-opus-5-5", { text: SUMMARY }),
    );
    const [item] = made.json.output;
    const changed = { ...item, encrypted_content: `${item.encrypted_content.slice(0, -1)}_` };
    for (const [customer, sent, why] of [
      [other, item, /made for your account/],
      [owner, changed, /made for your account/],
      [owner, { type: "compaction", encrypted_content: "gAAAAA" }, /made for your account/],
    ] as const) {
      const read = await post(gateway, paths.responses, customer, later("deepseek-v4-pro", sent));
      t.equal(read.status, 400, read.text);
      t.match(read.json.error.message, why);
    }
  });

  t.test("a GPT makes its own, and reads it", async (t) => {
    const customer = await customerWith(gateway);
    const made = await post(gateway, paths.responses, customer, full("gpt-5.6-sol", {}));
    t.equal(made.json.output[0].type, "compaction", made.text);
    t.notMatch(made.text, "tgs1.");
    const read = await post(
      gateway,
      paths.responses,
      customer,
      later("gpt-5.6-sol", made.json.output[0]),
    );
    t.equal(read.status, 200, read.text);
  });

  for (const model of ["claude-opus-5-5", "deepseek-v4-pro"]) {
    for (const bytes of [2_000, 40_000]) {
      t.test(`${model}: a conversation that does not fit is shortened (${bytes})`, async (t) => {
        const customer = await customerWith(gateway);
        const refusal = {
          status: 400,
          error: { message: "prompt is too long: 300000 tokens > 200000 maximum" },
          ...{ fail_times: 1, key: `full ${model} ${bytes}` },
        };
        const request = full(model, { ...refusal, echo: true });
        const input = request["input"] as object[];
        const turns = Array.from({ length: 20 }, (_, at) => [
          { type: "function_call", call_id: `c${at}`, name: "look", arguments: `{"at":${at}}` },
          {
            ...{ type: "function_call_output", call_id: `c${at}` },
            output: `result ${at}: ${"word ".repeat(bytes / 100)}`,
          },
        ]).flat();
        input.splice(2, 0, ...turns);
        const made = await post(gateway, paths.responses, customer, request);
        t.equal(made.status, 200, made.text.slice(0, 500));
        const read = await post(
          gateway,
          paths.responses,
          customer,
          later("grok-4.5", made.json.output[0]),
        );
        const said = JSON.stringify(read.json.output);
        t.match(said, "build a parser", "the task stays");
        t.match(said, "a part of it is left out");
        t.match(said, "result 19: ");
        t.notMatch(said, "result 0: ");
      });
    }
  }
});
