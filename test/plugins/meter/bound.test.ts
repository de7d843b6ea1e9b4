import t from "tap";
import type { JsonObject } from "../../../core/plugin/index.ts";
import { contentsOf, tokensOf } from "../../../plugins/meter/bound.ts";

/** One token for each byte, 1,000 for an image, and as many for 10 bytes of a file as for an item. */
const FACTORS = {
  isBound: true,
  asciiBytesPerToken: 1,
  otherBytesPerToken: 1,
  imageTokens: 1_000,
  documentBytesPerToken: 2,
  densityShare: 0,
  overheadShare: 1,
};
/** A model whose provider adds nothing to the text. */
const OVERHEAD = {
  text_percent: 100,
  request: 0,
  tools: 0,
  built_in_tool: 0,
  schema: 0,
  page: 100,
  page_text: 0,
  image: { base: 0, side: 10, tile_milli: 1_000, most: 1_000 },
  audio_second: 2,
};
const ITEM = 5;
/** A text whose share in a bound cannot be mistaken for another's. */
const TEXT = "a".repeat(10_000);

const DATA_URL = `data:image/png;base64,${TEXT}`;
const IMAGE = { type: "image", image_url: "x" };
const TEXT_SOURCE = { type: "text", media_type: "text/plain" };

const bound = (body: JsonObject) => tokensOf(contentsOf(body), FACTORS, OVERHEAD);
const turn = (content: unknown) => bound({ messages: [{ role: "user", content }] });
/** The tokens of a turn in addition to its content. */
const TURN = ITEM + "role".length + "user".length + "content".length;

t.test("a cache mark and the name of a part of the cache are no input", async (t) => {
  const cache_control = { type: "ephemeral", ttl: "5m" };
  const part = { type: "text", text: "a" };
  const tool = { name: "f", input_schema: {} };
  const plain = { system: [part], tools: [tool], messages: [{ role: "user", content: [part] }] };
  const marked = { ...part, cache_control };
  const withMarks = {
    ...{ system: [marked], tools: [{ ...tool, cache_control }], prompt_cache_key: "k".repeat(64) },
    messages: [{ role: "user", content: [marked] }],
  };
  t.equal(bound(withMarks), bound(plain));
});

t.test("the bound covers the text of every form of content", async (t) => {
  const text = { type: "text", text: TEXT };
  const table: [string, JsonObject][] = [
    ["a string", { messages: [{ role: "user", content: TEXT }] }],
    ["a text part", { messages: [{ role: "user", content: [text] }] }],
    ["a text part with more fields", { messages: [{ content: [{ ...text, cache_control: {} }] }] }],
    ["a part of another type", { messages: [{ content: [{ type: "input_text", text: TEXT }] }] }],
    ["thinking", { messages: [{ content: [{ type: "thinking", thinking: TEXT }] }] }],
    ["a tool result", { messages: [{ content: [{ type: "tool_result", content: TEXT }] }] }],
    [
      "parts of a tool result",
      { messages: [{ content: [{ type: "tool_result", content: [text] }] }] },
    ],
    [
      "the input of a tool",
      { messages: [{ content: [{ type: "tool_use", input: { a: TEXT } }] }] },
    ],
    ["arguments of a call", { messages: [{ tool_calls: [{ function: { arguments: TEXT } }] }] }],
    ["a system text", { system: TEXT }],
    ["parts of a system text", { system: [text] }],
    ["a tool's description", { tools: [{ name: "a", description: TEXT }] }],
    ["a tool's schema", { tools: [{ input_schema: { properties: { a: { enum: [TEXT] } } } }] }],
    ["the names in a schema", { tools: [{ input_schema: { properties: { [TEXT]: {} } } }] }],
    ["input of Responses", { input: TEXT }],
    [
      "items of Responses",
      { input: [{ role: "user", content: [{ type: "input_text", text: TEXT }] }] },
    ],
    ["output of a call in Responses", { input: [{ type: "function_call_output", output: TEXT }] }],
    ["instructions of Responses", { instructions: TEXT }],
  ];
  for (const [what, body] of table) {
    const tokens = bound(body);
    t.ok(tokens >= 10_000 && tokens < 10_200, `${what}: ${tokens}`);
  }
});

t.test(
  "a text part counts as a plain string does, and a part of more fields as more",
  async (t) => {
    t.equal(turn("12345"), TURN + 5);
    t.equal(turn([{ type: "text", text: "12345" }]), TURN + 5);
    t.equal(turn([{ type: "text", text: "12345", id: 1 }]), TURN + 5 + ITEM + 4 + 4 + 4 + 2 + 4);
    t.equal(turn([{ type: "note", text: "12345" }]), TURN + 5 + ITEM + 4 + 4 + 4);
    t.equal(
      turn([{ type: "text", text: 1 }]),
      TURN + ITEM + 4 + 4 + 4 + 4,
      "a text that is a number",
    );
  },
);

t.test("settings of a request are not part of its input", async (t) => {
  const unread = { model: TEXT, stream_options: { a: TEXT }, metadata: { a: TEXT }, user: TEXT };
  t.equal(bound({ ...unread, stream: true, max_tokens: 4_096, temperature: 0.5 }), 0);
  t.equal(bound({ stop: null }), 4, "any other field is");
});

t.test("other scripts count by their own factor", async (t) => {
  const factors = { ...FACTORS, asciiBytesPerToken: 10, otherBytesPerToken: 2 };
  const tokens = (system: string) => tokensOf(contentsOf({ system }), factors, OVERHEAD);
  t.equal(tokens("a".repeat(100)), 10);
  t.equal(tokens("д".repeat(100)), 100);
  t.equal(tokens("a"), 1, "rounded up");
});

t.test("dense text counts more, by its share", async (t) => {
  const contents = contentsOf({ system: "7f3a9c1e5b8d2046".repeat(8) });
  const prose = tokensOf(contents, FACTORS, OVERHEAD);
  const dense = tokensOf(contents, { ...FACTORS, densityShare: 1 }, OVERHEAD);
  t.ok(dense > prose + 40, `${dense} against ${prose}`);
  t.equal(
    tokensOf(contents, { ...FACTORS, densityShare: 0.5 }, OVERHEAD),
    Math.ceil(prose + contents.densityTokens / 2),
  );
});

t.test("media count by their kind, never as text", async (t) => {
  const data = "x".repeat(600);
  const base64 = (media_type: unknown) => ({ type: "base64", media_type, data });
  const image = TURN + ITEM + 4 + 5 + 6;
  const table: [string, unknown, number][] = [
    ["an image in base64", { type: "image", source: base64("image/png") }, image + ITEM + 1_000],
    ["a video", { type: "video", source: base64("video/mp4") }, image + ITEM + 300],
    ["base64 of no type", { type: "image", source: base64(undefined) }, image + ITEM + 300],
    ["audio of up to 30 seconds", { data, format: "wav" }, TURN + ITEM + 60],
    [
      "an image by address",
      { type: "image", source: { type: "url", url: "https://a/b" } },
      TURN + ITEM + 1_000,
    ],
    [
      "the same in Chat",
      { type: "image_url", image_url: { url: "https://a/b" } },
      TURN + ITEM + 1_000,
    ],
    [
      "an image as a data URL",
      { type: "input_image", image_url: `data:image/png;base64,${data}` },
      TURN + ITEM + 4 + 11 + 9 + 1_000,
    ],
    [
      "an image by address on Responses",
      { type: "input_image", image_url: "https://a/b" },
      TURN + ITEM + 1_000,
    ],
    ["a video as a data URL", { url: "data:video/mp4;base64,xxxx" }, TURN + ITEM + 3 + 2],
    [
      "a text in base64",
      { file_data: `data:text/plain;base64,${Buffer.from(TEXT).toString("base64")}` },
      TURN + ITEM + 9 + 10_000,
    ],
  ];
  for (const [what, content, expected] of table) t.equal(turn([content]), expected, what);
});

t.test("what only looks like media is text", async (t) => {
  const table: [string, unknown][] = [
    ["data without a type", { data: TEXT }],
    ["data of another type", { type: "text_file", data: TEXT }],
    ["an address of no image", { type: "link", source: { url: TEXT } }],
    ["a base64 type with data of another kind", { type: "base64", data: [TEXT] }],
    ["a format with data of another kind", { format: "wav", data: [TEXT] }],
    ["a data URL without data", { url: `data:${TEXT}` }],
    ["a text that begins as a data URL", `data:image/png,${TEXT}`],
    ["a text part that begins as one", { type: "text", text: `data:image/png,${TEXT}` }],
    ["a data URL in the input of a tool", { type: "tool_use", input: { url: DATA_URL } }],
    [
      "base64 in the input of a tool",
      { type: "tool_use", input: { a: { type: "base64", data: TEXT } } },
    ],
    ["a data URL in a schema", { input_schema: { default: { url: DATA_URL } } }],
    ["a data URL in an example of a tool", { input_examples: [{ url: DATA_URL }] }],
    ["a part in an example of a tool", { input_examples: [{ ...IMAGE, text: TEXT }] }],
    ["a text document", { type: "document", source: { ...TEXT_SOURCE, data: DATA_URL } }],
    [
      "a text document with a format",
      { type: "document", source: { ...TEXT_SOURCE, data: TEXT, format: "wav" } },
    ],
  ];
  for (const [what, content] of table) {
    const tokens = turn([content]);
    t.ok(tokens >= 10_000, `${what}: ${tokens}`);
  }
  const dataUrl = { type: "image_url", image_url: { url: `data:image/png;base64,${TEXT}` } };
  const tokens = turn([dataUrl]);
  t.ok(tokens > 1_000 && tokens < 1_100, `a data URL in a part is one image: ${tokens}`);
});

t.test("what a provider adds is counted by what a request asks for", async (t) => {
  const added = { ...OVERHEAD, request: 1, tools: 10, built_in_tool: 100, schema: 1_000 };
  const plain = { messages: [] };
  const more = (body: JsonObject, overhead = added) =>
    tokensOf(contentsOf(body), FACTORS, overhead) - tokensOf(contentsOf(body), FACTORS, OVERHEAD);
  const schema = { type: "json_schema", schema: {} };
  const table: [string, JsonObject, number][] = [
    ["each request", plain, 1],
    ["tools, once", { tools: [{ name: "a" }, { type: "function" }] }, 11],
    ["functions of older clients", { functions: [{ name: "a" }] }, 11],
    ["a list without tools", { tools: [] }, 1],
    ["tools that the provider defines", { tools: [{ type: "bash_20250124", name: "bash" }] }, 111],
    ["structured output of Chat", { response_format: { type: "json_schema" } }, 1_001],
    ["structured output of Messages", { output_config: { format: schema } }, 1_001],
    ["structured output of older Messages", { output_format: schema }, 1_001],
    ["structured output of Responses", { text: { format: schema } }, 1_001],
    ["a format that is text", { text: { format: { type: "text" } } }, 1],
  ];
  for (const [what, body, tokens] of table) t.equal(more(body), tokens, what);
  const pro = { reasoning: { mode: "pro" } };
  t.ok(bound(pro) >= 1_497, "the pro mode of OpenAI");
  t.equal(more({ system: "a".repeat(100) }, { ...OVERHEAD, text_percent: 130 }), 30);
});

t.test("encrypted reasoning counts by its length, not as dense text", async (t) => {
  const state = "x".repeat(4_000);
  const table: [string, JsonObject][] = [
    ["a signature", { type: "thinking", signature: state }],
    ["thinking that is not shown", { type: "redacted_thinking", data: state }],
    ["reasoning of Responses", { type: "reasoning", encrypted_content: state }],
    ["a summary of older turns", { type: "compaction", encrypted_content: state }],
    ["a signature of Gemini", { google: { thought_signature: state } }],
  ];
  for (const [what, block] of table) {
    const tokens = turn([block]);
    t.ok(tokens >= 1_000 && tokens < 1_100, `${what}: ${tokens}`);
  }
  t.ok(turn([{ type: "tool_use", input: { signature: state } }]) > 4_000, "an argument is text");
});

t.test("numbers, booleans and nothing count a little, at any depth", async (t) => {
  t.equal(turn([1, true, null]), TURN + 12);
  t.equal(bound({ tools: [[[["12345"]]]] }), 5);
  t.equal(bound({ tools: [{ a: {} }] }), ITEM + 1 + ITEM);
  const used = TURN + ITEM + "type".length + "tool_use".length + "input".length;
  t.equal(turn([{ type: "tool_use", input: { a: {} } }]), used + ITEM + 1 + ITEM);
});

t.test("a conversation that was counted before counts the same", async (t) => {
  const messages = [
    { role: "user", content: "0xdeadbeef, тест" },
    { type: "reasoning", encrypted_content: "x".repeat(40) },
  ];
  const body = { system: "a system text, тест", messages };
  const counted = { list: messages, contents: contentsOf({ messages }) };
  const factors = { ...FACTORS, otherBytesPerToken: 3, densityShare: 1 };
  const whole = contentsOf(body);
  const joined = contentsOf(body, counted);
  t.equal(tokensOf(joined, factors, OVERHEAD), tokensOf(whole, factors, OVERHEAD));
  t.strictSame({ ...joined, inflation: 0 }, { ...whole, inflation: 0 });
});
