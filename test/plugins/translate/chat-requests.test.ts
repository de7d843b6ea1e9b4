import t from "tap";
import { chatRules } from "./requests.ts";

const MARK = { cache_control: { type: "ephemeral" } };
const ABSENT = { $absent: true };
const Q = { role: "user", content: "q" };
const F = { type: "function", function: { name: "f" } };
const SCHEMA = { type: "object", properties: { a: { type: "integer" } } };
const FORMAT = {
  type: "json_schema",
  json_schema: { name: "p", description: "d", schema: SCHEMA },
};

function call(id: string, args: unknown = "{}", name = "f"): object {
  return { id, type: "function", function: { name, arguments: args } };
}

function calling(...calls: object[]): object {
  return { role: "assistant", tool_calls: calls };
}

function answer(id: string, content: unknown = "ok"): object {
  return { role: "tool", tool_call_id: id, content };
}

function user(...content: object[]): object {
  return { role: "user", content };
}

const text = { type: "string" };

t.test("Chat requests: top level", async (t) => {
  chatRules(t, [
    {
      rule: "the newer cap goes first",
      given: { max_completion_tokens: 5, max_tokens: 9 },
      sent: { max_tokens: 5 },
    },
    {
      rule: "no cap at all, on a small model",
      profile: { max_output_tokens: 8192 },
      given: {},
      sent: { max_tokens: 8192 },
    },
    { rule: "a cap as text", given: { max_tokens: "9" }, rejected: "max_tokens:", code: null },
    {
      rule: "a cap below one",
      given: { max_completion_tokens: 0 },
      rejected: "max_completion_tokens:",
    },
    { rule: "two choices", given: { n: 2 }, rejected: "n:", code: "unsupported_parameter" },
    { rule: "no choice", given: { n: 0 }, rejected: "n:", code: null },
    {
      rule: "probabilities",
      given: { logprobs: true },
      rejected: "logprobs:",
      code: "unsupported_parameter",
    },
    { rule: "top probabilities", given: { top_logprobs: 3 }, rejected: "top_logprobs:" },
    { rule: "no top probabilities", given: { top_logprobs: 0 }, sent: { top_logprobs: ABSENT } },
    { rule: "audio settings", given: { audio: { voice: "x" } }, rejected: "audio:" },
    {
      rule: "text only",
      given: { modalities: ["text"], audio: null },
      sent: { modalities: ABSENT },
    },
    { rule: "one stop", given: { stop: "END" }, sent: { stop_sequences: ["END"] } },
    { rule: "a stop that is a number", given: { stop: [1] }, rejected: "stop:" },
    {
      rule: "the newer user id goes first",
      given: { safety_identifier: "s", user: "u" },
      sent: { metadata: { user_id: "s" } },
    },
    {
      rule: "a user id of 257 characters",
      given: { user: "u".repeat(257) },
      sent: { metadata: { user_id: { $regex: "^[0-9a-f]{64}$" } } },
    },
    {
      rule: "a user id of 256 characters",
      given: { user: "u".repeat(256) },
      sent: { metadata: { user_id: "u".repeat(256) } },
    },
    {
      rule: "the priority tier",
      given: { service_tier: "priority" },
      sent: { service_tier: "auto" },
    },
    {
      rule: "dropped hints are named",
      given: { seed: 1, store: null, verbosity: "low" },
      dropped: ["seed", "verbosity"],
    },
    {
      rule: "the stream's options are remembered, not sent",
      given: { stream: true, stream_options: {} },
      sent: { stream: true, stream_options: ABSENT },
    },
    { rule: "no messages", given: { messages: [] }, rejected: "messages:" },
    {
      rule: "an unknown role",
      given: { messages: [{ role: "critic" }] },
      rejected: "messages[0].role:",
    },
  ]);
});

t.test("Chat requests: sampling", async (t) => {
  chatRules(t, [
    { rule: "below zero", given: { temperature: -1 }, sent: { temperature: 0 } },
    {
      rule: "both, if both are accepted",
      profile: { sampling: "both" },
      given: { temperature: 1, top_p: 0.5 },
      sent: { temperature: 1, top_p: 0.5 },
    },
    {
      rule: "both at their defaults",
      given: { temperature: 1, top_p: 1 },
      sent: { temperature: 1, top_p: ABSENT },
    },
    {
      rule: "none, if none is accepted",
      profile: { sampling: "none" },
      given: { temperature: 1, top_p: 0.5, top_k: 3 },
      sent: { temperature: ABSENT, top_p: ABSENT, top_k: ABSENT },
      dropped: ["top_p", "top_k"],
    },
    { rule: "top_k", given: { top_k: 3 }, sent: { top_k: 3 } },
    {
      rule: "a thinking model takes a high top_p alone",
      given: { reasoning_effort: "low", temperature: 0.1, top_p: 0.95, top_k: 3 },
      sent: { top_p: 0.95, temperature: ABSENT, top_k: ABSENT },
    },
    {
      rule: "thinking switched off leaves sampling",
      given: { reasoning_effort: "none", temperature: 0.1 },
      sent: { temperature: 0.1 },
    },
  ]);
});

t.test("Chat requests: content", async (t) => {
  const part = (url: string) => [{ type: "image_url", image_url: { url } }];
  chatRules(t, [
    {
      rule: "data URLs of text become documents, percent-encoded or in base64",
      given: {
        messages: [
          user(...part("data:text/plain,Xin%20ch%C3%A0o%"), ...part("data:text/CSV;base64,YSxi")),
        ],
      },
      sent: {
        messages: [
          {
            content: [
              {
                type: "document",
                source: { type: "text", media_type: "text/plain", data: "Xin chào%" },
              },
              { type: "document", source: { type: "text", media_type: "text/plain", data: "a,b" } },
            ],
          },
        ],
      },
    },
    {
      rule: "an image that is percent-encoded",
      given: { messages: [user(...part("data:image/png,%00a"))] },
      sent: {
        messages: [
          { content: [{ source: { type: "base64", media_type: "image/png", data: "AGE=" } }] },
        ],
      },
    },
    {
      rule: "a PDF by address, with a query",
      given: { messages: [user(...part("HTTPS://x.test/a.PDF?b#c"))] },
      sent: {
        messages: [
          {
            content: [
              { type: "document", source: { type: "url", url: "HTTPS://x.test/a.PDF?b#c" } },
            ],
          },
        ],
      },
    },
    {
      rule: "a query that ends like a PDF",
      given: { messages: [user(...part("https://x.test/a?b=c.pdf"))] },
      sent: { messages: [{ content: [{ type: "image" }] }] },
    },
    {
      rule: "an address with an unsupported scheme",
      given: { messages: [user(...part("gs://bucket/a.png"))] },
      rejected: "messages[0].content[0].image_url.url:",
      code: "unsupported_parameter",
    },
    {
      rule: "an image without an address",
      given: { messages: [user({ type: "image_url", image_url: {} })] },
      rejected: "messages[0].content[0].image_url.url:",
    },
    {
      rule: "files are texts or PDFs by their bytes, if their types do not say so",
      given: {
        messages: [
          user(
            ...[
              "data:application/json;base64,e30=",
              "data:application/javascript;base64,e30=",
              "data:application/octet-stream;base64,e30=",
              "data:;base64,e30=",
              "e30=",
              "data:text/plain;base64,//57AH0A",
              "data:text/plain;base64,/v8AewB9",
              "data:application/octet-stream;base64,JVBERi0xLjcKe30=",
            ].map((file_data) => ({ type: "file", file: { filename: "a", file_data } })),
          ),
        ],
      },
      sent: {
        messages: [
          {
            content: [
              ...Array.from({ length: 7 }, () => ({
                source: { type: "text", media_type: "text/plain", data: "{}" },
              })),
              { source: { type: "base64", media_type: "application/pdf" } },
            ],
          },
        ],
      },
    },
    {
      rule: "a file that is neither a text nor a PDF",
      given: { messages: [user({ type: "file", file: { filename: "a", file_data: "AAEC" } })] },
      rejected: "messages[0].content[0].file.file_data:",
      code: "unsupported_parameter",
    },
    {
      rule: "files keep their names",
      given: {
        messages: [
          user(
            { type: "file", file: { filename: "a.pdf", file_data: "JVBERi0=" } },
            { type: "file", file: { filename: "a.txt", file_data: "data:text/plain;base64,YQ==" } },
          ),
        ],
      },
      sent: {
        messages: [
          {
            content: [
              {
                title: "a.pdf",
                source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
              },
              { title: "a.txt", source: { type: "text", data: "a" } },
            ],
          },
        ],
      },
    },
    {
      rule: "a system message with an image",
      given: { messages: [{ role: "system", content: part("https://x.test/a.png") }, Q] },
      rejected: "messages[0].content[0].type:",
    },
    {
      rule: "system messages alone become a user message",
      given: {
        messages: [
          { role: "system", content: "a" },
          { role: "developer", content: "b" },
        ],
      },
      sent: {
        system: ABSENT,
        messages: [{ role: "user", content: [{ text: "a" }, { text: "b" }] }],
      },
    },
    {
      rule: "the assistant begins",
      given: { messages: [{ role: "assistant", content: "hi" }, Q] },
      sent: {
        messages: [{ role: "user", content: [{ text: "." }] }, { content: [{ text: "hi" }] }, {}],
      },
    },
    {
      rule: "trailing white space is removed from a last turn of the assistant",
      given: { messages: [Q, { role: "assistant", content: "so \n" }] },
      sent: { messages: [{}, { content: [{ text: "so" }] }] },
    },
    {
      rule: "a model without prefill is asked to continue",
      profile: { prefill: false },
      given: { messages: [Q, { role: "assistant", content: "so" }] },
      sent: {
        messages: [{}, { role: "assistant" }, { role: "user", content: [{ text: "Continue." }] }],
      },
    },
    {
      rule: "consecutive turns of one role become one, after blank ones are removed",
      given: {
        messages: [
          Q,
          { role: "assistant", content: " " },
          Q,
          { role: "assistant", content: "a" },
          { role: "assistant", content: [{ type: "text", text: "b" }] },
          Q,
        ],
      },
      sent: { messages: [{ content: [{}, {}] }, { content: [{ text: "a" }, { text: "b" }] }, {}] },
    },
    {
      rule: "a refusal is the assistant's text, unless it has another one",
      given: {
        messages: [
          Q,
          { role: "assistant", content: null, refusal: "no" },
          Q,
          { role: "assistant", content: [{ type: "refusal", refusal: "never" }], refusal: "no" },
          Q,
        ],
      },
      sent: {
        messages: [{}, { content: [{ text: "no" }] }, {}, { content: [{ text: "never" }] }, {}],
      },
    },
    {
      rule: "an earlier reply in audio",
      given: { messages: [Q, { role: "assistant", audio: { id: "a" } }, Q] },
      rejected: "messages[1].audio:",
    },
    {
      rule: "a cache mark on a message goes to its last block",
      given: {
        messages: [
          {
            ...user({ type: "text", text: "a" }, { type: "text", text: "b" }),
            cache_control: { type: "ephemeral" },
          },
        ],
      },
      sent: {
        messages: [
          { content: [{ cache_control: ABSENT }, { cache_control: { type: "ephemeral" } }] },
        ],
      },
    },
  ]);
});

t.test("Chat requests: system messages in mid-conversation", async (t) => {
  const inline = { mid_system: "inline" } as const;
  const system = (content: string) => ({ role: "system", content });
  const said = { role: "assistant", content: "a" };
  chatRules(t, [
    {
      rule: "before a reply",
      profile: inline,
      given: { messages: [Q, system("S"), said, Q] },
      sent: {
        system: ABSENT,
        messages: [
          { role: "user" },
          { role: "system", content: [{ type: "text", text: "S" }] },
          { role: "assistant" },
          { role: "user" },
        ],
      },
    },
    {
      rule: "at the end",
      profile: inline,
      given: { messages: [Q, system("S")] },
      sent: { messages: [{ role: "user" }, { role: "system" }] },
    },
    {
      rule: "before the user",
      profile: inline,
      given: { messages: [Q, said, system("S"), Q] },
      sent: { system: [{ text: "S" }], messages: [{}, {}, {}] },
    },
    {
      rule: "after an empty user turn",
      profile: inline,
      given: { messages: [{ role: "user", content: " " }, system("S"), said, Q] },
      sent: { system: [{ text: "S" }], messages: [{ content: [{ text: "." }] }, {}, {}] },
    },
    {
      rule: "between two user turns, which become one",
      given: { messages: [Q, system("S"), Q] },
      sent: { system: [{ text: "S" }], messages: [{ content: [{}, {}] }] },
    },
    {
      rule: "between call and result",
      profile: inline,
      given: { tools: [F], messages: [Q, calling(call("a")), system("S"), answer("a")] },
      sent: { system: [{ text: "S" }], messages: [{}, {}, {}] },
    },
    {
      rule: "between two results, which become one turn",
      profile: inline,
      given: { messages: [Q, said, system("S"), said, Q] },
      sent: { system: [{ text: "S" }], messages: [{}, { content: [{}, {}] }, {}] },
    },
    {
      rule: "after a reply that the model is asked to continue",
      profile: { ...inline, prefill: false },
      given: { messages: [Q, said, system("S")] },
      sent: { system: [{ text: "S" }], messages: [{}, {}, { role: "user" }] },
    },
  ]);
});

t.test("Chat requests: calls and their answers", async (t) => {
  const sent = (input: unknown) => ({
    messages: [{}, { content: [{ input: { $exact: input } }] }, {}],
  });
  const history = (args: unknown) => ({
    tools: [F],
    messages: [Q, calling(call("a", args)), answer("a")],
  });
  chatRules(t, [
    { rule: "arguments of white space", given: history(" \n"), sent: sent({}) },
    { rule: "arguments of null", given: history(null), sent: sent({}) },
    { rule: "arguments as an object", given: history({ a: null }), sent: sent({ a: null }) },
    { rule: "arguments as a number", given: history(5), sent: sent({ _raw_arguments: "5" }) },
    {
      rule: "arguments that hold the word null",
      given: history("null"),
      sent: sent({ _raw_arguments: "null" }),
    },
    {
      rule: "arguments encoded twice",
      given: history('"{}"'),
      sent: sent({ _raw_arguments: '"{}"' }),
    },
    {
      rule: "an id used again in a later turn names another call upstream",
      given: {
        tools: [F],
        messages: [
          Q,
          calling(call("c1"), call("x:1")),
          answer("x:1"),
          answer("c1"),
          Q,
          calling(call("c1"), call("x:1")),
          answer("c1"),
          answer("x:1"),
          calling(call("c1")),
          answer("c1"),
        ],
      },
      sent: {
        messages: [
          {},
          { content: [{ id: "c1" }, { id: "tgw1_000000_eDox" }] },
          { content: [{ tool_use_id: "tgw1_000000_eDox" }, { tool_use_id: "c1" }, {}] },
          { content: [{ id: "tgw1_000001_YzE" }, { id: "tgw1_000001_eDox" }] },
          { content: [{ tool_use_id: "tgw1_000001_YzE" }, { tool_use_id: "tgw1_000001_eDox" }] },
          { content: [{ id: "tgw1_000002_YzE" }] },
          { content: [{ tool_use_id: "tgw1_000002_YzE" }] },
        ],
      },
    },
    {
      rule: "one id for two calls of a message",
      given: { messages: [Q, calling(call("a"), call("a")), answer("a")] },
      rejected: "messages[1].tool_calls[1].id:",
    },
    {
      rule: "a second result of one call",
      given: { messages: [Q, calling(call("a")), answer("a"), answer("a")] },
      rejected: "messages[3].tool_call_id: a",
    },
    {
      rule: "a result of an earlier turn's call",
      given: { messages: [Q, calling(call("a")), answer("a"), calling(call("b")), answer("a")] },
      rejected: "messages[4].tool_call_id: a",
    },
    {
      rule: "a user turn before all calls have results",
      given: { messages: [Q, calling(call("a"), call("b")), answer("a"), Q, answer("b")] },
      rejected: "messages: ",
    },
    {
      rule: "a call without a result at the end",
      given: { messages: [Q, calling(call("a"))] },
      rejected: "messages: ",
    },
    {
      rule: "a call without an id",
      given: { messages: [Q, calling({ function: { name: "f" } })] },
      rejected: "messages[1].tool_calls[0].id:",
    },
    {
      rule: "a blank result",
      given: { tools: [F], messages: [Q, calling(call("a")), answer("a", " \n")] },
      sent: { messages: [{}, {}, { content: [{ content: ABSENT }] }] },
    },
    {
      rule: "a function message without a call",
      given: { messages: [Q, { role: "function", name: "f", content: "1" }] },
      rejected: "messages[1]:",
    },
    {
      rule: "stubs for every tool that was called, under the names the upstream gets",
      given: {
        messages: [
          Q,
          calling(call("a", "{}", "x.y"), call("b"), call("c")),
          answer("a"),
          answer("b"),
          answer("c"),
        ],
      },
      sent: {
        tools: [{ name: { $regex: "^x_y_[0-9a-f]{12}$" } }, { name: "f" }],
        tool_choice: { $exact: { type: "none" } },
      },
    },
  ]);
});

t.test("Chat requests: tools", async (t) => {
  const G = {
    type: "function",
    function: { name: "g", parameters: { properties: {}, $defs: {} } },
  };
  chatRules(t, [
    {
      rule: "schemas are completed, not changed",
      given: { tools: [F, G] },
      sent: {
        tools: {
          $exact: [
            { name: "f", input_schema: { type: "object", properties: {} } },
            { name: "g", input_schema: { type: "object", properties: {}, $defs: {} }, ...MARK },
          ],
        },
      },
    },
    {
      rule: "one call at a time sets a choice",
      given: { tools: [F], parallel_tool_calls: false },
      sent: { tool_choice: { $exact: { type: "auto", disable_parallel_tool_use: true } } },
    },
    {
      rule: "several calls at a time set none",
      given: { tools: [F], parallel_tool_calls: true },
      sent: { tool_choice: ABSENT },
    },
    {
      rule: "a call is required",
      given: { tools: [F], tool_choice: "required" },
      sent: { tool_choice: { $exact: { type: "any" } } },
    },
    {
      rule: "an unknown choice",
      given: { tools: [F], tool_choice: "maybe" },
      rejected: "tool_choice:",
    },
    {
      rule: "a choice of an undeclared tool",
      given: { tools: [F], tool_choice: { type: "function", function: { name: "g" } } },
      rejected: "tool_choice:",
    },
    {
      rule: "an unknown tool type",
      given: { tools: [{ type: "mcp" }] },
      rejected: "tools[0].type:",
      code: "unsupported_parameter",
    },
    {
      rule: "a grammar without a description",
      given: {
        tools: [
          {
            type: "custom",
            custom: {
              name: "c",
              format: { type: "grammar", grammar: { syntax: "lark", definition: "x" } },
            },
          },
        ],
      },
      sent: { tools: [{ description: "Input grammar (lark):\nx" }] },
    },
    {
      rule: "older choices",
      given: { functions: [{ name: "f" }], function_call: "none" },
      sent: { tools: [{ name: "f" }], tool_choice: { type: "none" } },
    },
  ]);
});

t.test("Chat requests: effort", async (t) => {
  const budget = { thinking: "budget" } as const;
  const effort = { reasoning_effort: "high" };
  chatRules(t, [
    {
      rule: "half of the output is left for the reply",
      profile: budget,
      given: { ...effort, max_tokens: 4000 },
      sent: { thinking: { budget_tokens: 2000 }, max_tokens: 4000 },
    },
    {
      rule: "the model's own limit caps a default",
      profile: { ...budget, max_output_tokens: 40_000 },
      given: effort,
      sent: { thinking: { budget_tokens: 16_384 }, max_tokens: 40_000 },
    },
    {
      rule: "the model's own limit leaves half to the reply",
      profile: { ...budget, max_output_tokens: 20_000 },
      given: effort,
      sent: { thinking: { budget_tokens: 10_000 }, max_tokens: 20_000 },
    },
    {
      rule: "the highest effort by budget",
      profile: budget,
      given: { reasoning_effort: "max" },
      sent: { thinking: { budget_tokens: 32_768 }, max_tokens: 64_768 },
    },
    {
      rule: "a limit too low for thinking",
      profile: { ...budget, max_output_tokens: 1024 },
      given: effort,
      sent: { thinking: ABSENT, max_tokens: 1024 },
      dropped: ["reasoning_effort"],
    },
    {
      rule: "an effort beside adaptive thinking that is not to be shown",
      given: { ...effort, thinking: { type: "adaptive", display: "omitted" } },
      sent: { thinking: { type: "adaptive", display: "omitted" } },
      dropped: [],
    },
    {
      rule: "a model that does not think",
      profile: { thinking: "none" },
      given: { ...effort, thinking: { type: "adaptive" } },
      sent: { thinking: ABSENT, output_config: ABSENT },
      dropped: ["reasoning_effort"],
    },
    {
      rule: "a model that does not think, with effort none",
      profile: { thinking: "none" },
      given: { reasoning_effort: "none" },
      sent: { thinking: ABSENT },
    },
    {
      rule: "an unknown effort",
      given: { reasoning_effort: "ultra" },
      rejected: "reasoning_effort:",
    },
    ...[{}, budget].flatMap((profile) => [
      {
        rule: `a budget beyond the default, ${JSON.stringify(profile)}`,
        profile,
        given: { thinking: { type: "enabled", budget_tokens: 40_000 } },
        sent: { thinking: { budget_tokens: 40_000 }, max_tokens: 72_000 },
        dropped: [],
      },
      {
        rule: `a budget beyond the model's own limit, ${JSON.stringify(profile)}`,
        profile: { ...profile, max_output_tokens: 64_000 },
        given: { thinking: { type: "enabled", budget_tokens: 80_000 } },
        sent: { thinking: { budget_tokens: 32_000 }, max_tokens: 64_000 },
        dropped: ["thinking.budget_tokens"],
      },
      {
        rule: `a budget below the least, ${JSON.stringify(profile)}`,
        profile,
        given: { thinking: { type: "enabled", budget_tokens: 500 } },
        sent: { thinking: { budget_tokens: 1024 }, max_tokens: 32_000 },
        dropped: ["thinking.budget_tokens"],
      },
      {
        rule: `a broken budget, ${JSON.stringify(profile)}`,
        profile,
        given: { thinking: { type: "enabled", budget_tokens: 40_000.5 } },
        sent: { thinking: { budget_tokens: 40_000 }, max_tokens: 72_000 },
        dropped: ["thinking.budget_tokens"],
      },
      {
        rule: `a budget within the default, ${JSON.stringify(profile)}`,
        profile,
        given: { thinking: { type: "enabled", budget_tokens: 20_000 } },
        sent: { thinking: { budget_tokens: 20_000 }, max_tokens: 32_000 },
        dropped: [],
      },
    ]),
    ...[{}, budget, { thinking: "adaptive" as const }].map((profile) => ({
      rule: `a budget of nothing, ${JSON.stringify(profile)}`,
      profile,
      given: { thinking: { type: "enabled", budget_tokens: 0 } },
      sent: { thinking: ABSENT, output_config: ABSENT },
      dropped: ["reasoning_effort"],
    })),
    {
      rule: "a budget beyond the default, on a model of efforts",
      profile: { thinking: "adaptive" },
      given: { thinking: { type: "enabled", budget_tokens: 40_000 } },
      sent: {
        thinking: { type: "adaptive" },
        output_config: { effort: "high" },
        max_tokens: 72_000,
      },
    },
    {
      rule: "a forced call needs no room for thinking",
      profile: budget,
      given: { ...effort, tools: [F], tool_choice: "required" },
      sent: { thinking: ABSENT, max_tokens: 32_000 },
    },
    {
      rule: "a budget whose thoughts are not to be shown",
      profile: budget,
      given: { ...effort, thinking: { type: "adaptive", display: "omitted" } },
      sent: { thinking: { display: ABSENT } },
      dropped: ["thinking.display"],
    },
    {
      rule: "the Messages field for thinking, with a forced call",
      given: { tools: [F], tool_choice: "required", thinking: { type: "adaptive" } },
      sent: { thinking: ABSENT },
      dropped: ["thinking"],
    },
    {
      rule: "a call behind verifiable thinking keeps thinking on",
      profile: budget,
      given: {
        ...effort,
        tools: [F],
        messages: [
          Q,
          {
            role: "assistant",
            content: "x",
            thinking_blocks: [{ type: "thinking", thinking: "t", signature: "s" }],
          },
          Q,
          {
            ...calling(call("a")),
            thinking_blocks: [{ type: "thinking", thinking: "t", signature: "s" }],
          },
          answer("a"),
        ],
      },
      sent: { thinking: { type: "enabled" } },
    },
  ]);
});

t.test("Chat requests: formats", async (t) => {
  chatRules(t, [
    {
      rule: "any JSON object",
      given: {
        response_format: { type: "json_object" },
        messages: [{ role: "system", content: "S" }, Q],
      },
      sent: {
        system: [{ text: "S" }, { text: "Respond with one valid JSON object and nothing else." }],
      },
    },
    {
      rule: "plain text",
      given: { response_format: { type: "text" } },
      sent: { output_config: ABSENT, system: ABSENT },
    },
    {
      rule: "an unknown format",
      given: { response_format: { type: "grammar" } },
      rejected: "response_format.type:",
      code: "unsupported_parameter",
    },
    {
      rule: "a format without a schema",
      given: { response_format: { type: "json_schema" } },
      rejected: "response_format.json_schema.schema:",
    },
    {
      rule: "a format and an effort share their field",
      given: { response_format: FORMAT, reasoning_effort: "low" },
      sent: {
        output_config: { effort: "low", format: { schema: { additionalProperties: false } } },
      },
    },
    {
      rule: "objects are closed, data is not",
      given: {
        response_format: {
          type: "json_schema",
          json_schema: {
            schema: {
              type: "object",
              properties: {
                __proto__x: { type: "string", default: { type: "object" } },
                choice: { anyOf: [{ type: ["object", "null"], properties: { a: text } }] },
              },
              $defs: { d: { properties: { default: { type: "string" } } } },
            },
          },
        },
      },
      sent: {
        output_config: {
          format: {
            schema: {
              $exact: {
                type: "object",
                properties: {
                  __proto__x: { type: "string", default: { type: "object" } },
                  choice: {
                    anyOf: [
                      {
                        ...{ type: ["object", "null"], properties: { a: text } },
                        additionalProperties: false,
                      },
                    ],
                  },
                },
                $defs: {
                  d: {
                    ...{ type: "object", properties: { default: { type: "string" } } },
                    additionalProperties: false,
                  },
                },
                additionalProperties: false,
              },
            },
          },
        },
      },
    },
    {
      rule: "an open map in a format is refused by its place",
      given: {
        response_format: {
          type: "json_schema",
          json_schema: {
            schema: {
              type: "object",
              properties: { m: { type: "object", additionalProperties: text } },
            },
          },
        },
      },
      rejected: "response_format: in its schema, properties.m takes properties of any name",
    },
  ]);
});
