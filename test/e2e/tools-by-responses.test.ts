import t from "tap";
import { makePng } from "../../plugins/simulator/png.ts";
import { billedCall, customerWith } from "../support/billed.ts";
import type { Directive } from "../support/provider/directive.ts";
import { type Answer, asking, deliveredText, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** A model whose maker refuses tools together with thinking in Chat. */
const MODEL = "gpt-5.6-sol";
const SCHEMA = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const PNG = makePng(8, 8, 3).toString("base64");

/** A body or a reply; a missing field fails the assertion that reads it. */
// biome-ignore lint/suspicious/noExplicitAny: bodies have many shapes
type Json = any;

const CLIENTS = ["messages", "chat"] as const;
type Client = (typeof CLIENTS)[number];

const FIELDS: Readonly<Record<Client, object>> = {
  messages: {
    max_tokens: 4096,
    system: "Be brief.",
    tools: [{ name: "look", input_schema: SCHEMA }],
    output_config: { effort: "high" },
  },
  chat: {
    max_completion_tokens: 4096,
    tools: [{ type: "function", function: { name: "look", parameters: SCHEMA } }],
    reasoning_effort: "high",
  },
};

/** Two steps of a conversation: the second goes on after the reply to the first. */
function goingOn(client: Client, { json }: Answer, result: string): Json[] {
  if (client === "messages") {
    const results = json.content
      .filter(({ type }: Json) => type === "tool_use")
      .map(({ id }: Json) => ({ type: "tool_result", tool_use_id: id, content: result }));
    return [
      { role: "assistant", content: json.content },
      { role: "user", content: results },
    ];
  }
  const { message } = json.choices[0];
  const results = message.tool_calls.map(({ id }: Json) => {
    return { role: "tool", tool_call_id: id, content: result };
  });
  return [message, ...results];
}

const saidBy: Readonly<Record<Client, (json: Json) => string>> = {
  messages: ({ content }) => content.at(-1).text,
  chat: ({ choices }) => choices[0].message.content,
};

t.test("tools together with thinking go out as Responses", async (t) => {
  const gateway = await sharedGateway();

  const ask = async (client: Client, given: Directive | Json[], more: object = {}) => {
    const customer = await customerWith(gateway);
    const messages = Array.isArray(given) ? given : [{ role: "user", content: asking(given) }];
    const body = { model: MODEL, ...FIELDS[client], messages, ...more };
    return { customer, reply: await post(gateway, paths[client], customer, body) };
  };

  /** The request that the provider gets. */
  const sent = async (client: Client, more: object = {}, messages?: Json[]): Promise<Json> => {
    const { reply } = await ask(client, messages ?? { echo: true }, more);
    t.equal(reply.status, 200, reply.text);
    return JSON.parse(saidBy[client](reply.json));
  };

  for (const client of CLIENTS) {
    t.test(`${client}: effort and tools arrive, and nothing is dropped`, async (t) => {
      const { reply } = await ask(client, { echo: true });
      t.equal(reply.headers.get("x-svc-translate-dropped"), null);
      const { path, body } = JSON.parse(saidBy[client](reply.json));
      t.equal(path, "/v1/responses");
      t.match(body, {
        store: false,
        include: ["reasoning.encrypted_content"],
        reasoning: { effort: "high" },
        max_output_tokens: 4096,
        tools: [{ type: "function", name: "look", parameters: SCHEMA, strict: false }],
      });
      if (client === "messages") t.equal(body.instructions, "Be brief.");
    });

    t.test(`${client}: two calls at once, whole or streamed, and their state`, async (t) => {
      const { customer, reply } = await ask(client, [{ role: "user", content: "do it" }]);
      const first = reply.json;
      const record = await billedCall(gateway, customer);
      const usage = first.usage;
      t.equal(usage.input_tokens ?? usage.prompt_tokens, record["input_tokens"]);
      t.equal(usage.output_tokens ?? usage.completion_tokens, record["output_tokens"]);
      const turns = [{ role: "user", content: "do it" }];
      const echo = asking({ echo: true });
      const { body } = await sent(client, {}, [...turns, ...goingOn(client, reply, echo)]);
      t.strictSame(
        body.input.map(({ type, role }: Json) => type ?? role),
        [
          "user",
          "reasoning",
          "function_call",
          "function_call",
          ...Array(2).fill("function_call_output"),
        ],
      );
      t.match(body.input[1], { summary: [], encrypted_content: /^gAAAAA/ });

      // State of another maker does not go there.
      const model = "claude-opus-5-5";
      const other = await ask(client, turns, { model });
      const { body: changed } = await sent(client, {}, [
        ...turns,
        ...goingOn(client, other.reply, echo),
      ]);
      t.notOk(changed.input.some(({ type }: Json) => type === "reasoning"));
    });

    t.test(`${client}: images, documents, results with media, formats`, async (t) => {
      const data = Buffer.from("%PDF-1.4").toString("base64");
      const url = `data:image/png;base64,${PNG}`;
      const content = {
        messages: [
          { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
          { type: "document", source: { type: "base64", media_type: "application/pdf", data } },
        ],
        chat: [
          { type: "image_url", image_url: { url } },
          {
            type: "file",
            file: { filename: "document.pdf", file_data: `data:application/pdf;base64,${data}` },
          },
        ],
      }[client];
      const user = {
        role: "user",
        content: [...content, { type: "text", text: asking({ echo: true }) }],
      };
      const schema = { ...SCHEMA, additionalProperties: false };
      const format = {
        messages: { output_config: { effort: "low", format: { type: "json_schema", schema } } },
        chat: { response_format: { type: "json_schema", json_schema: { name: "r", schema } } },
      }[client];
      const { body } = await sent(client, format, [user]);
      t.match(body.input[0].content, [
        { type: "input_image", image_url: url },
        { type: "input_file", file_data: /^data:application\/pdf;base64,/ },
        { type: "input_text" },
      ]);
      t.match(body.text.format, { type: "json_schema", schema });
    });

    t.test(`${client}: a small cap is raised to the provider's least`, async (t) => {
      const cap = client === "messages" ? { max_tokens: 5 } : { max_completion_tokens: 5 };
      const { body } = await sent(client, cap);
      t.equal(body.max_output_tokens, 16);
    });

    t.test(`${client}: without thinking, Chat serves it`, async (t) => {
      const off = {
        messages: { thinking: { type: "disabled" }, output_config: {} },
        chat: { reasoning_effort: "none" },
      };
      const { path, body } = await sent(client, off[client]);
      t.equal(path, "/v1/chat/completions");
      t.equal(body.reasoning_effort, "none");
    });
  }

  t.test(
    "state that its provider refuses stays out of a second attempt, charged once",
    async (t) => {
      // Encrypted reasoning of OpenAI, but of another organisation.
      const signature = `gAAAAA${"x".repeat(44)}`;
      const tools = [{ name: "look", arguments: { path: "a" } }];
      for (const client of CLIENTS) {
        const first = await ask(client, { thinking: "Hm.", signature, tools });
        for (const stream of [false, true]) {
          const echo = asking({ echo: true });
          const turns = [{ role: "user", content: "do it" }, ...goingOn(client, first.reply, echo)];
          const { customer, reply } = await ask(client, turns, { stream });
          t.equal(reply.status, 200, reply.text);
          const got = stream ? deliveredText(reply.text) : saidBy[client](reply.json);
          t.strictSame(
            JSON.parse(got).body.input.map(({ type, role }: Json) => type ?? role),
            ["user", "function_call", "function_call_output"],
          );
          await billedCall(gateway, customer);
        }
      }
      const reasoning = {
        type: "reasoning",
        id: "rs_1",
        summary: [],
        encrypted_content: signature,
      };
      const long = "A long text. ".repeat(2_000);
      for (const text of ["hello", long]) {
        const customer = await customerWith(gateway);
        const call = { type: "function_call", call_id: "c1", name: "look", arguments: "{}" };
        const output = {
          type: "function_call_output",
          call_id: "c1",
          output: asking({ text: "ok" }),
        };
        const input = [{ role: "user", content: text }, reasoning, call, output];
        const reply = await post(gateway, paths.responses, customer, { model: MODEL, input });
        t.equal(reply.status, 200, reply.text.slice(0, 300));
        await billedCall(gateway, customer);
      }
      const customer = await customerWith(gateway);
      const input = [{ role: "user", content: asking({ status: 400 }) }, reasoning];
      const refused = await post(gateway, paths.responses, customer, { model: MODEL, input });
      t.equal(refused.status, 400, "another refusal is the client's");
    },
  );

  t.test("an image in a result stays there", async (t) => {
    const source = { type: "base64", media_type: "image/png", data: PNG };
    const text = { type: "text", text: asking({ echo: true }) };
    const result = {
      type: "tool_result",
      tool_use_id: "c1",
      content: [text, { type: "image", source }],
    };
    const { body } = await sent("messages", {}, [
      { role: "user", content: asking({ echo: true }) },
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look", input: {} }] },
      { role: "user", content: [{ ...result, is_error: true }] },
    ]);
    const [words, image] = body.input.at(-1).output;
    t.match(words, { type: "input_text", text: /^Error: / });
    t.match(image, { type: "input_image", image_url: `data:image/png;base64,${PNG}` });
  });

  t.test("a Chat client keeps hints that Messages does not have", async (t) => {
    const hints = { prompt_cache_key: "k", verbosity: "low", metadata: { a: "b" } };
    const { reply } = await ask("chat", { echo: true }, { ...hints, seed: 1 });
    t.equal(reply.headers.get("x-svc-translate-dropped"), "seed");
    const { body } = JSON.parse(saidBy.chat(reply.json));
    t.match(body, {
      prompt_cache_key: /^[0-9a-f]{64}$/,
      text: { verbosity: "low" },
      metadata: { a: "b" },
    });
  });

  t.test("what Responses cannot say goes to Chat, without thinking", async (t) => {
    const { reply } = await ask("chat", { text: "hi" }, { n: 2 });
    t.equal(reply.status, 200, reply.text);
    t.equal(reply.json.choices.length, 2);
    t.equal(reply.headers.get("x-svc-translate-dropped"), "reasoning_effort");
  });
});
