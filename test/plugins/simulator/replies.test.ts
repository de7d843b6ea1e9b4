import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import type { Directive } from "../../../plugins/simulator/directive.ts";
import { type Simulator, startSimulator } from "../../../plugins/simulator/server.ts";

let simulator: Simulator;
let url = "";
let anthropic: Anthropic;
let openai: OpenAI;

t.before(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${simulator.port}`;
  anthropic = new Anthropic({ baseURL: url, apiKey: "test", maxRetries: 0 });
  openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "test", maxRetries: 0 });
});
t.teardown(() => simulator.close());

const asking = (directive: Directive, words = "hello") =>
  `${words} [[sim ${JSON.stringify(directive)}]]`;
const user = (content: string) => ({ role: "user" as const, content });
const post = (path: string, body: object) =>
  fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** Ids differ between requests, and a request for a stream is another one. */
const withoutIds = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value ?? [], (name, inner) =>
      name === "id" || name === "signature" ? undefined : inner,
    ),
  ) as object;

const QUOTE = 'This is a simulated answer to "hello".';
const TOKENS = Math.ceil(QUOTE.length / 4);
const schema = {
  type: "object" as const,
  properties: { path: { type: "string" }, lines: { type: "integer" } },
  required: ["path"],
};
const claudeTools = [{ name: "read", input_schema: schema }];
const chatTools = [{ type: "function" as const, function: { name: "read", parameters: schema } }];
const responsesTools = [
  { type: "function" as const, name: "read", parameters: schema, strict: false },
];

t.test("Messages: text, thinking, calls, limits and usage, whole and as a stream", async (t) => {
  const create = async (content: string, more: Partial<Anthropic.MessageCreateParams> = {}) => {
    const body = { model: "m", max_tokens: 100, messages: [user(content)], ...more };
    const whole = await anthropic.messages.create({ ...body, stream: false });
    const streamed = await anthropic.messages.stream(body).finalMessage();
    t.match(withoutIds(streamed.content), withoutIds(whole.content));
    t.equal(streamed.stop_reason, whole.stop_reason);
    t.equal(streamed.usage.output_tokens, whole.usage.output_tokens);
    return whole;
  };
  t.match(await create("hello", { tools: claudeTools }), {
    content: [{ type: "text", text: QUOTE }],
    stop_reason: "end_turn",
    usage: { output_tokens: TOKENS },
  });
  const thought = { thinking: "hm", cache_read_tokens: 3, input_tokens: 10 };
  t.match(await create(asking(thought)), {
    content: [{ type: "thinking", thinking: "hm" }, { text: QUOTE }],
    usage: { input_tokens: 7, cache_read_input_tokens: 3 },
  });
  const tools = [{ name: "read", arguments: { path: "a" } }, { name: "not offered" }];
  t.match(await create(asking({ tools }), { tools: claudeTools }), {
    content: [{ type: "tool_use", name: "read", input: { path: "a" } }],
    stop_reason: "tool_use",
  });
  for (const tool_choice of [{ type: "any" }, { type: "tool", name: "read" }] as const) {
    t.match(await create("hello", { tools: claudeTools, tool_choice }), {
      content: [{ type: "tool_use", name: "read", input: { path: "hello" } }],
    });
  }
  t.match(await create("hello", { max_tokens: 3 }), {
    content: [{ text: "This is a si" }],
    stop_reason: "max_tokens",
    usage: { output_tokens: 3 },
  });
  t.match(await create("hello", { stop_sequences: [" simul"] }), {
    content: [{ text: "This is a" }],
    stop_reason: "stop_sequence",
    stop_sequence: " simul",
  });
  t.match(await create(asking({ output_tokens: 50 })), { usage: { output_tokens: 50 } });
  t.strictSame(await anthropic.messages.countTokens({ model: "m", messages: [user("12345")] }), {
    input_tokens: 2,
  });
});

t.test("Chat: text, calls, choices and usage, whole and as a stream", async (t) => {
  const create = async (
    content: string,
    more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {},
  ) => {
    const body = { model: "m", messages: [user(content)], ...more };
    const whole = await openai.chat.completions.create({ ...body, stream: false });
    const stream = openai.chat.completions.stream({
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    });
    const streamed = await stream.finalChatCompletion();
    t.match(streamed.usage, { completion_tokens: whole.usage?.completion_tokens });
    for (const [index, { message, finish_reason }] of whole.choices.entries()) {
      const { content, tool_calls } = message;
      t.match(streamed.choices[index], { message: { content }, finish_reason });
      t.match(withoutIds(streamed.choices[index]?.message.tool_calls), withoutIds(tool_calls));
    }
    return whole;
  };
  t.match(await create("hello", { tools: chatTools }), {
    choices: [{ message: { content: QUOTE, tool_calls: undefined }, finish_reason: "stop" }],
    usage: { completion_tokens: TOKENS },
  });
  t.match(await create("hello", { n: 2 }), {
    choices: [{ index: 0 }, { index: 1 }],
    usage: { completion_tokens: 2 * TOKENS },
  });
  const demanded = { type: "function", function: { name: "read" } } as const;
  for (const tool_choice of ["required", demanded] as const) {
    t.match(await create("hello", { tools: chatTools, tool_choice }), {
      choices: [
        {
          message: { tool_calls: [{ function: { name: "read", arguments: '{"path":"hello"}' } }] },
          finish_reason: "tool_calls",
        },
      ],
    });
  }
  t.match(await create("hello", { max_completion_tokens: 1 }), {
    choices: [{ message: { content: "This" }, finish_reason: "length" }],
  });
});

t.test("Responses: text, calls and usage, whole and as a stream", async (t) => {
  const create = async (
    input: string,
    more: Partial<OpenAI.Responses.ResponseCreateParams> = {},
  ) => {
    const body = { model: "m", input, ...more };
    const whole = await openai.responses.create({ ...body, stream: false });
    const stream = openai.responses.stream({ ...body, stream: true });
    const streamed = await stream.finalResponse();
    t.match(streamed.output_text, whole.output_text);
    t.match(streamed.usage, whole.usage ?? {});
    t.equal(streamed.status, whole.status);
    return whole;
  };
  t.match(await create("hello", { tools: responsesTools }), {
    output: [{ type: "message" }],
    output_text: QUOTE,
    usage: { output_tokens: TOKENS },
  });
  t.match(await create(asking({ thinking: "hm" })), {
    output: [{ type: "reasoning", summary: [{ text: "hm" }] }, { type: "message" }],
  });
  const demanded = { type: "function", name: "read" } as const;
  for (const tool_choice of ["required", demanded] as const) {
    t.match(await create("hello", { tools: responsesTools, tool_choice }), {
      output: [{ type: "function_call", name: "read", arguments: '{"path":"hello"}' }],
    });
  }
  t.match(await create("hello", { max_output_tokens: 1 }), {
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
  });
});

t.test("images and speech", async (t) => {
  const made = await openai.images.generate({
    model: "m",
    prompt: "a boat",
    n: 2,
    size: "1024x1024",
  });
  t.equal(made.data?.length, 2);
  const png = Buffer.from(made.data?.[0]?.b64_json ?? "", "base64");
  t.strictSame([png.toString("latin1", 1, 4), png.readUInt32BE(16)], ["PNG", 1_024]);
  t.equal(made.usage?.output_tokens, 2_000);
  const image = await toFile(png, "a.png", { type: "image/png" });
  const edited = await openai.images.edit({ model: "m", image: [image, image], prompt: "a sea" });
  t.match(edited.usage, { input_tokens: 2 * 256 + 2, output_tokens: 1_000 });
  const boat = { model: "m", prompt: "a boat", stream: true } as const;
  const events = await openai.images.generate({ ...boat, partial_images: 2 });
  const types: string[] = [];
  for await (const event of events) {
    types.push(event.type);
    if (event.type === "image_generation.completed") t.equal(event.usage.output_tokens, 1_200);
  }
  const part = "image_generation.partial_image";
  t.strictSame(types, [part, part, "image_generation.completed"]);
  await t.rejects(openai.images.generate({ ...boat, n: 2 }), /only supported with n=1/);
  const voice = { model: "m", input: "hello", voice: "alloy" } as const;
  const spoken = await openai.audio.speech.create(voice);
  t.equal(spoken.headers.get("content-type"), "audio/mpeg");
  t.equal((await spoken.arrayBuffer()).byteLength, 4_180);
  t.match(
    await (await post("/v1/audio/speech", { ...voice, stream_format: "sse" })).text(),
    /done/,
  );
});

t.test("agents get text for their first request, although it offers tools", async (t) => {
  const folder = join(packageRoot, "test", "agents", "shapes");
  const files = readdirSync(folder);
  t.ok(files.length > 10 && files.includes("claude-code.json"));
  const words = "Correct the spelling in /home/user/project/notes.txt.";
  for (const file of files) {
    const { path, body } = JSON.parse(readFileSync(join(folder, file), "utf8")) as {
      path: string;
      body: Record<string, unknown>;
    };
    t.match(JSON.stringify(body["tool_choice"] ?? "auto"), /"auto"/, file);
    const reply = await post(path, { ...body, model: "m", stream: false });
    const json = await reply.text();
    const said = file === "claude-code.json" ? words : "";
    t.ok(json.includes(`This is a simulated answer to \\"${said}`), file);
    t.notMatch(json, /"tool_use"|"tool_calls"|"function_call"|"custom_tool_call"/, file);
  }

  t.test("and what Claude Code asks beside that gets what it can read", async (t) => {
    const ask = async (content: string, more: object = {}) => {
      const given = { model: "m", max_tokens: 500, messages: [user(content)], ...more };
      const { content: blocks } = await anthropic.messages.create(given);
      return blocks.map((block) => (block.type === "text" ? block.text : block.type)).join();
    };
    const title = {
      type: "object",
      properties: { title: { type: "string" } },
      required: ["title"],
    };
    const format = { type: "json_schema", schema: title };
    const script = asking({ tools: [{ name: "Bash" }] }, "make a file");
    t.equal(
      await ask(`<session>\n${script}\n</session>\n\nWrite the title.`, {
        output_config: { format },
      }),
      '{"title":"make a file"}',
      "a title for the session, which quotes a directive",
    );
    const quoted = JSON.stringify({ user: script });
    const monitor = `<transcript>\n${quoted}\n</transcript>\nYour ENTIRE response MUST begin with <block>.`;
    t.match(await ask(monitor), /^<block>yes<\/block>/, "an action that no model has judged");
    t.equal(await ask(monitor, { stop_sequences: ["</block>"] }), "<block>yes");
    t.match(await ask("Reply with a <summary> block."), /^<summary>.+<\/summary>$/s);
  });
});

t.test("replies in JSON that fits the schema: Chat and Responses", async (t) => {
  const $defs = { kind: { enum: ["a", "b"] } };
  const properties = {
    kinds: { type: "array", items: { $ref: "#/$defs/kind" }, minItems: 2 },
    size: { anyOf: [{ type: "number", minimum: 5 }, { type: "null" }] },
    more: { type: "string" },
  };
  const nested = { type: "object", properties, required: ["kinds", "size"], $defs };
  const format = { type: "json_schema", name: "n", schema: nested };
  const expected = '{"kinds":["a","a"],"size":5}';
  const chat = await post("/v1/chat/completions", {
    ...{ model: "m", messages: [user("hello")] },
    response_format: { type: "json_schema", json_schema: format },
  });
  t.match(await chat.json(), { choices: [{ message: { content: expected } }] });
  const made = await post("/v1/responses", { model: "m", input: "hello", text: { format } });
  t.match(await made.json(), { output: [{ content: [{ text: expected }] }] });
  for (const schema of [{ enum: [] }, { anyOf: [] }, { const: null }, { $ref: "#/nowhere" }]) {
    const none = await post("/v1/chat/completions", {
      ...{ model: "m", messages: [user("hello")] },
      response_format: { type: "json_schema", json_schema: { name: "n", schema } },
    });
    t.match(await none.json(), { choices: [{ message: { content: "null" } }] });
  }
  const free = await post("/v1/chat/completions", {
    ...{ model: "m", messages: [user("hello")], response_format: { type: "json_object" } },
  });
  t.match(await free.json(), { choices: [{ message: { content: "{}" } }] });
});

t.test("fails as a directive says, in the shape of the protocol", async (t) => {
  const ask = (path: string, directive: Directive, more: object = {}) =>
    post(path, { model: "m", max_tokens: 9, messages: [user(asking(directive))], ...more });
  const limited = await ask("/v1/messages", { status: 429, retry_after: 7 });
  t.strictSame([limited.status, limited.headers.get("retry-after")], [429, "7"]);
  t.match(await limited.json(), { type: "error", error: { type: "rate_limit_error" } });
  const broken = await ask("/v1/chat/completions", { status: 500, error: { message: "gone" } });
  t.match(await broken.json(), { error: { message: "gone", type: "server_error" } });
  const wrong = await post("/v1/messages", { model: "m", messages: [user("x")] });
  t.match([wrong.status, await wrong.text()], [400, /max_tokens/]);
  const unknown = await post("/v1/messages", {
    ...{ model: "m", max_tokens: 9, messages: [user('[[sim {"statuss":1}]]')] },
  });
  t.match([unknown.status, await unknown.text()], [400, /directive is invalid.*statuss/]);
  const stream = { stream: true };
  const error = await ask("/v1/messages", { error_after_events: 2 }, stream);
  const events = (await error.text()).split("\n\n").filter((event) => event !== "");
  t.equal(events.length, 3);
  t.match(events[2], /^event: error\n.*api_error/);
  const ended = await ask("/v1/chat/completions", { end_after_events: 1 }, stream);
  t.equal((await ended.text()).split("\n\n").length, 2);
  const cut = await ask("/v1/chat/completions", { cut_after_events: 3 }, stream);
  await t.rejects(cut.text());
  const none = await ask("/v1/messages", { usage: "missing" });
  t.notMatch(await none.text(), /usage/);
  t.equal((await fetch(`${url}/v1/else`)).status, 404);
});

t.test("echoes a request, and keeps no more of a long reply than its reader takes", async (t) => {
  const body = { model: "m", messages: [user(asking({ echo: true }))] };
  const { choices } = (await (await post("/v1/chat/completions", body)).json()) as {
    choices: [{ message: { content: string } }];
  };
  t.match(JSON.parse(choices[0].message.content), { path: "/v1/chat/completions", body });
  const long = { output_tokens: 20_000, event_delay_ms: undefined };
  const reply = await post("/v1/chat/completions", {
    ...{ model: "m", stream: true, messages: [user(asking(long))] },
  });
  const text = await reply.text();
  t.equal(text.match(/"content":"/g)?.length, 20_001);
  t.ok(text.endsWith("data: [DONE]\n\n"));
});
