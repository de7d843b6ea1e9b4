import t from "tap";
import { assertNotCharged, customerWith } from "../support/billed.ts";
import { echoIn } from "../support/echo.ts";
import type { TestGateway } from "../support/gateway.ts";
import { type Answer, asking, bodies, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

type Chat = "messages" | "chat" | "responses";
type Fields = Readonly<Record<string, unknown>>;

let gateway: TestGateway;
let customer: Awaited<ReturnType<typeof customerWith>>;
t.before(async () => {
  gateway = await sharedGateway();
  customer = await customerWith(gateway);
});

const MODELS = { messages: "claude-opus-5-5", chat: "gpt-4.1-nano", responses: "gpt-4.1-nano" };
/** Models of the other protocol, whose calls are translated. */
const TRANSLATED = { messages: "gpt-4.1-nano", chat: "claude-opus-5-5", responses: undefined };

const ADDRESS = "https://files.example.com/a";
const said = (...content: readonly Fields[]) => ({ messages: [{ role: "user", content }] });
const given = (...content: readonly Fields[]) => ({ input: [{ role: "user", content }] });
/** A search for tools by the client, and the tools that it found. */
const found = (...tools: readonly Fields[]) => ({
  tools: [{ type: "tool_search", execution: "client" }],
  input: [
    { type: "tool_search_call", call_id: "c", execution: "client", arguments: {} },
    { type: "tool_search_output", call_id: "c", execution: "client", status: "completed", tools },
    { role: "user", content: asking({ echo: true }) },
  ],
});
const adding = (definition: Fields) => ({
  role: "system",
  content: [{ type: "tool_addition", tool: { type: "tool_definition", definition } }],
});
const tool = (type: string, more: Fields = {}) => ({ tools: [{ type, name: "t", ...more }] });

const FLAT = { type: "function", name: "own", parameters: { type: "object", properties: {} } };
const OWN = { type: "function", function: { name: "own", parameters: FLAT.parameters } };

/**
 * The demands that are refused: the fields of the request, and the name that the message begins
 * with.
 */
const DEMANDS: Readonly<Record<Chat, readonly (readonly [Fields, string])[]>> = {
  messages: [
    [tool("web_search_20250305", { name: "web_search" }), "tools[0].type"],
    [tool("web_fetch_20250910"), "tools[0].type"],
    [tool("code_execution_20250825"), "tools[0].type"],
    [tool("advisor_20260301", { model: "claude-opus-5" }), "tools[0].type"],
    [tool("mcp_toolset", { mcp_server_name: "a" }), "tools[0].type"],
    [tool("tool_search_tool_regex_20251119"), "tools[0].type"],
    [tool("something_new"), "tools[0].type"],
    [{ tools: [{ name: "own", input_schema: {} }, { type: 7 }] }, "tools[1].type"],
    [{ mcp_servers: [{ type: "url", url: ADDRESS, name: "a" }] }, "mcp_servers"],
    [{ container: "container_1" }, "container"],
    [{ container: { skills: [{ type: "anthropic", skill_id: "pptx" }] } }, "container"],
    [{ inference_geo: "us" }, "inference_geo"],
    [said({ type: "document", source: { type: "url", url: ADDRESS } }), "messages[0].content[0]"],
    [said({ type: "document", source: { type: "file", file_id: "f" } }), "messages[0].content[0]"],
    [said({ type: "image", source: { type: "file", file_id: "f" } }), "messages[0].content[0]"],
    [said({ type: "container_upload", file_id: "f" }), "messages[0].content[0]"],
    [
      { messages: [...said().messages, adding({ type: "web_search_20260318", name: "a" })] },
      "messages[1].content[0].tool.definition.type",
    ],
    [
      { messages: [...said().messages, adding({ type: "something_new", name: "a" })] },
      "messages[1].content[0].tool.definition.type",
    ],
    [
      said({
        type: "tool_result",
        tool_use_id: "t",
        content: [{ type: "document", source: { type: "url", url: ADDRESS } }],
      }),
      "messages[0].content[0].content[0]",
    ],
    ...["file:///etc/passwd", "s3://b/k", "http://169.254.169.254/a", "http://localhost/a.png"].map(
      (url) =>
        [said({ type: "image", source: { type: "url", url } }), "messages[0].content[0]"] as const,
    ),
    [{ Tools: [{ type: "web_search_20250305", name: "web_search" }] }, "tools"],
    [{ serviceTier: "priority" }, "service_tier"],
  ],
  chat: [
    [{ web_search_options: {} }, "web_search_options"],
    [{ search_parameters: { mode: "on" } }, "search_parameters"],
    [{ enable_search: true }, "enable_search"],
    [{ plugins: [{ id: "web" }] }, "plugins"],
    [{ deferred: true }, "deferred"],
    [{ best_of: 4 }, "best_of"],
    [{ inference_geo: "us" }, "inference_geo"],
    [{ modalities: ["text", "audio"], audio: { voice: "a", format: "mp3" } }, "modalities"],
    [{ audio: { voice: "a", format: "mp3" } }, "audio"],
    [{ enable_code_interpreter: true }, "enable_code_interpreter"],
    [{ web_search: { enable: true } }, "web_search"],
    [{ data_sources: [{ type: "azure_search" }] }, "data_sources"],
    [{ Model: "claude-opus-5-5" }, "model"],
    [{ N: 128 }, "n"],
    [{ Max_Tokens: 1 }, "max_tokens"],
    [{ extraBody: { google: {} } }, "extra_body"],
    [{ "\u017ftream": true }, "stream"],
    [{ Own_option: 1, own_option: 2 }, "Own_option"],
    [{ tools: [{ ...OWN, Type: "web_search" }] }, "tools[0].type"],
    [{ tools: [{ ...OWN, function: { name: "googleSearch" } }] }, "tools[0].type"],
    [
      {
        messages: [
          { role: "system", content: "x", tools: [{ type: "builtin_function" }] },
          { role: "user", content: "x" },
        ],
      },
      "messages[0].tools[0].type",
    ],
    ...[
      ...[
        "file:///etc/passwd",
        "s3://b/k",
        "gs://b/o",
        "oss://x",
        "ms://file-1",
        "ht\ntp://a.example",
      ],
      ...["http://127.0.0.1/a.png", "http://2130706433/a.png", "https://[::ffff:10.0.0.1]/a.png"],
      ...[
        "http://localhost/a.png",
        "http://a.localhost./a.png",
        "http://redis:6379/a.png",
        "a.png",
      ],
      ...["iVBORw0KGgo="],
    ].map(
      (url) =>
        [
          said({ type: "image_url", image_url: { url } }),
          "messages[0].content[0].image_url",
        ] as const,
    ),
    [said({ type: "image_url", image_url: "file:///a" }), "messages[0].content[0].image_url"],
    [said({ type: "file", file: { url: "file:///a" } }), "messages[0].content[0].file"],
    [said({ type: "video", video: ["file:///a"] }), "messages[0].content[0].video"],
    [
      said({ type: "input_audio", input_audio: { data: ADDRESS, format: "mp3" } }),
      "messages[0].content[0].input_audio",
    ],
    [{ mcp_servers: [{ type: "url", url: ADDRESS }] }, "mcp_servers"],
    ...[
      ...["web_search", "web_search_premium", "browser_search", "builtin_function", "file_search"],
      ...["code_interpreter", "mcp", "image_generation", "openrouter:web_search", "something"],
    ].map((type) => [tool(type), "tools[0].type"] as const),
    [said({ type: "file", file: { file_id: "f" } }), "messages[0].content[0].file_id"],
    [said({ type: "document_url", document_url: ADDRESS }), "messages[0].content[0].document_url"],
    [said({ type: "video_url", video_url: { url: ADDRESS } }), "messages[0].content[0].video_url"],
    [
      said({ type: "image_url", image_url: { url: `${ADDRESS}.pdf?x=1` } }),
      "messages[0].content[0].image_url",
    ],
    [
      {
        messages: [
          { role: "assistant", audio: { id: "audio_1" } },
          { role: "user", content: "again" },
        ],
      },
      "messages[0].audio",
    ],
  ],
  responses: [
    [{ background: true }, "background"],
    [{ background: true, stream: true }, "background"],
    [{ previous_response_id: "resp_1" }, "previous_response_id"],
    [{ conversation: "conv_1" }, "conversation"],
    [{ conversation: { id: "conv_1" } }, "conversation"],
    [{ prompt: { id: "pmpt_1" } }, "prompt"],
    [{ input: [{ type: "item_reference", id: "msg_1" }] }, "input[0]"],
    [{ input: [{ id: "msg_1" }] }, "input[0]"],
    [{ input: [{ type: "image_generation_call", id: "ig_1" }] }, "input[0]"],
    [{ inference_geo: "us" }, "inference_geo"],
    ...[
      ...["file_search", "code_interpreter", "mcp", "computer", "computer_use_preview"],
      ...["something", "tool_search"],
    ].map((type) => [tool(type), "tools[0].type"] as const),
    [tool("shell", { environment: { type: "container_auto" } }), "tools[0].type"],
    [
      { tools: [{ type: "namespace", name: "n", tools: [{ type: "mcp" }] }] },
      "tools[0].tools[0].type",
    ],
    [{ input: [{ type: "additional_tools", tools: [{ type: "mcp" }] }] }, "input[0].tools[0].type"],
    ...["mcp", "code_interpreter", "file_search", "computer_use_preview"].map(
      (type) => [found({ type }), "input[1].tools[0].type"] as const,
    ),
    [
      found({
        type: "namespace",
        name: "n",
        tools: [{ type: "namespace", tools: [{ type: "mcp" }] }],
      }),
      "input[1].tools[0].tools[0].tools[0].type",
    ],
    [
      given({ type: "input_text", text: "x" }, { type: "other", tools: [{ type: "mcp" }] }),
      "input[0].content[1].tools[0].type",
    ],
    [{ tools: [{ ...FLAT, TYPE: "mcp" }] }, "tools[0].type"],
    [{ Previous_Response_Id: "resp_1" }, "previous_response_id"],
    [given({ type: "input_image", image_url: "ms://file-1" }), "input[0].content[0].image_url"],
    [
      given({ type: "input_image", image_url: "http://10.0.0.1/" }),
      "input[0].content[0].image_url",
    ],
    [given({ type: "input_file", file_url: "file:///a" }), "input[0].content[0].file_url"],
    [
      {
        input: [
          {
            type: "computer_call_output",
            call_id: "c",
            output: { type: "computer_screenshot", image_url: "file:///a" },
          },
        ],
      },
      "input[0].output.image_url",
    ],
    [given({ type: "input_file", file_id: "f" }), "input[0].content[0].file_id"],
    [given({ type: "input_file", file_url: ADDRESS }), "input[0].content[0].file_url"],
    [given({ type: "input_image", file_id: "f" }), "input[0].content[0].file_id"],
    [
      {
        input: [
          {
            type: "function_call_output",
            call_id: "c",
            output: [{ type: "input_file", file_url: ADDRESS }],
          },
        ],
      },
      "input[0].output[0].file_url",
    ],
    [{ ...tool("web_search"), tool_choice: { type: "web_search" } }, "tool_choice"],
    [{ ...tool("web_search_preview"), tool_choice: "required" }, "tool_choice"],
  ],
};

t.test("a call that demands what is not priced", async (t) => {
  for (const protocol of ["messages", "chat", "responses"] as const) {
    for (const [fields, path] of DEMANDS[protocol]) {
      for (const model of [MODELS[protocol], TRANSLATED[protocol]]) {
        if (model === undefined) continue;
        t.test(`is refused on ${protocol}, ${model}: ${JSON.stringify(fields)}`, async (t) => {
          const body = { ...bodies[protocol]({}, { model }), ...fields };
          const before = await sentUpstream();
          const answer = await post(gateway, paths[protocol], customer, body);
          t.equal(answer.status, 400, answer.text);
          const { error } = answer.json;
          t.equal(error.type, "invalid_request_error");
          t.ok(error.message.startsWith(path), error.message);
          t.match(error.message, /: .+; .+/, "says why, and what to do instead");
          if (protocol !== "messages") t.equal(error.param, /^\w+/.exec(path)?.[0]);
          t.equal(await sentUpstream(), before, "nothing goes upstream");
        });
      }
    }
  }

  t.test("costs nothing", () => assertNotCharged(gateway, customer));
});

/**
 * The parts that are left out: the fields, those that are sent instead, and the names in the
 * header.
 */
const LEFT_OUT: Readonly<Record<Chat, readonly (readonly [Fields, Fields, string | null])[]>> = {
  messages: [
    [{ speed: "fast" }, { speed: undefined }, "speed"],
    [{ fallbacks: [{ model: "a" }] }, { fallbacks: undefined }, "fallbacks"],
    [
      { betas: ["a"], anthropic_beta: ["a"] },
      { betas: undefined, anthropic_beta: undefined },
      null,
    ],
    [
      { system: [{ type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" } }] },
      { system: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }] },
      null,
    ],
  ],
  chat: [
    [{ service_tier: "priority" }, { service_tier: undefined }, "service_tier"],
    [{ speed: "fast" }, { speed: undefined }, "speed"],
    [{ models: ["a", "b"] }, { models: undefined }, "models"],
    [{ fallbacks: ["a"] }, { fallbacks: undefined }, "fallbacks"],
    [{ extra_body: { plugins: [] } }, { extra_body: undefined }, "extra_body"],
    [{ provider: { order: ["a"] } }, { provider: undefined }, "provider"],
    ...[true, 1, "true", 0, "", null].map((store) => [{ store }, { store: false }, null] as const),
  ],
  responses: [
    [{ service_tier: "priority" }, { service_tier: undefined }, "service_tier"],
    [{ speed: "fast" }, { speed: undefined }, "speed"],
    [{ fallbacks: ["a"] }, { fallbacks: undefined }, "fallbacks"],
    ...[true, 1, "true", "false", 0, [], {}].map(
      (store) => [{ store }, { store: false, include: undefined }, null] as const,
    ),
    [
      { model: "gpt-5.6-sol", store: "true" },
      { store: false, include: ["reasoning.encrypted_content"] },
      null,
    ],
    [
      found({ type: "web_search" }, FLAT, { type: "image_generation" }),
      { input: found(FLAT).input },
      "web_search,image_generation",
    ],
    [{}, { store: false, include: undefined }, null],
    [{ store: null }, { store: false }, null],
    [{ model: "gpt-5.6-sol" }, { store: false, include: ["reasoning.encrypted_content"] }, null],
    [
      { model: "gpt-5.6-sol", include: ["message.output_text.logprobs"] },
      { include: ["message.output_text.logprobs", "reasoning.encrypted_content"] },
      null,
    ],
    [{ model: "gpt-5.6-sol", store: false }, { store: false, include: undefined }, null],
    [
      {
        tools: [
          FLAT,
          { type: "web_search", external_web_access: false },
          { type: "image_generation" },
        ],
      },
      { tools: [FLAT] },
      "web_search,image_generation",
    ],
    [
      { ...tool("web_search_preview"), tool_choice: "auto", parallel_tool_calls: true },
      { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined },
      "web_search_preview",
    ],
    [
      {
        tools: [FLAT, { type: "web_search" }],
        tool_choice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "web_search" }, { type: "function", name: "own" }],
        },
      },
      {
        tools: [FLAT],
        tool_choice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "function", name: "own" }],
        },
      },
      "web_search",
    ],
  ],
};

t.test("what only costs more, or keeps state", async (t) => {
  for (const protocol of ["messages", "chat", "responses"] as const) {
    for (const [fields, sent, header] of LEFT_OUT[protocol]) {
      t.test(`is left out on ${protocol}: ${JSON.stringify(fields)}`, async (t) => {
        const body = { ...bodies[protocol]({ echo: true }), ...fields };
        const answer = await post(gateway, paths[protocol], customer, body);
        t.equal(answer.status, 200, answer.text);
        const upstream = echoOf(protocol, answer).body;
        for (const [name, value] of Object.entries(sent)) t.strictSame(upstream[name], value, name);
        t.equal(answer.headers.get("x-svc-left-out"), header);
      });
    }
  }

  t.test("is left out of translated calls too", async (t) => {
    const body = { ...bodies.chat({ echo: true }), model: TRANSLATED.chat, models: ["a"] };
    const answer = await post(gateway, paths.chat, customer, body);
    t.equal(answer.status, 200, answer.text);
    t.equal(answer.headers.get("x-svc-left-out"), "models");
  });
});

t.test("betas", async (t) => {
  const HEADER = "anthropic-beta";
  const ordinary = [
    ...["claude-code-20250219", "interleaved-thinking-2025-05-14", "effort-2025-11-24"],
    ...["context-management-2025-06-27", "per-turn-control-2026-07-01", "inline-tools-2026-09-15"],
    ...["mid-conversation-output-config-2026-07-01", "mid-conversation-tool-changes-2026-07-01"],
    ...["mid-conversation-system-clear-at-2026-08-21", "thinking-display-updates-2026-08-18"],
    ...["thinking-token-count-2026-05-13", "cache-diagnosis-2026-04-07"],
  ].join(",");

  t.test("that cost tokens only go upstream as they are", async (t) => {
    const headers = { [HEADER]: ordinary };
    const answer = await post(
      gateway,
      paths.messages,
      customer,
      bodies.messages({ echo: true }),
      headers,
    );
    t.equal(echoOf("messages", answer).headers[HEADER], ordinary);
    t.equal(answer.headers.get("x-svc-left-out"), null);
  });

  t.test("that cost more, or are unknown, are left out and named", async (t) => {
    const headers = {
      [HEADER]: `context-1m-2025-08-07, ${ordinary}, fast-mode-2026-02-01,new-thing-2027-01-01`,
    };
    const answer = await post(
      gateway,
      paths.messages,
      customer,
      bodies.messages({ echo: true }),
      headers,
    );
    t.equal(echoOf("messages", answer).headers[HEADER], ordinary);
    t.equal(
      answer.headers.get("x-svc-left-out"),
      "context-1m-2025-08-07,fast-mode-2026-02-01,new-thing-2027-01-01",
    );
  });

  t.test("that are left out take with them the fields that only they allow", async (t) => {
    const { messages, ...body } = bodies.messages({ echo: true });
    const user = { ...messages[0], seen_at: 1 };
    const effort = { output_config: { effort: "low" } };
    const own = {
      ...{ thread_style: "a", compaction: { type: "a" }, diagnostics: {} },
      thinking: { type: "adaptive", depth: 2 },
      output_config: { effort: "high", task_budget: { type: "tokens", total: 20_000 } },
      messages: [
        user,
        { role: "system", content: [{ type: "text", text: "b" }, { type: "flash" }], ...effort },
        { role: "system", content: [{ type: "flash" }] },
      ],
    };
    const betas = "per-turn-control-2026-07-01,task-budgets-2026-03-13";
    const headers = { [HEADER]: `${betas},new-thing-2027-01-01` };
    const answer = await post(gateway, paths.messages, customer, { ...body, ...own }, headers);
    t.equal(answer.status, 200, answer.text);
    const { body: sent, headers: sentHeaders } = echoOf("messages", answer);
    t.equal(sentHeaders[HEADER], betas);
    t.strictSame(sent, {
      ...{ ...body, model: sent.model, diagnostics: {}, thinking: { type: "adaptive" } },
      output_config: own.output_config,
      messages: [
        messages[0],
        { role: "system", content: [{ type: "text", text: "b" }], ...effort },
      ],
    });
    t.equal(
      answer.headers.get("x-svc-left-out"),
      "thread_style,compaction,thinking.depth,messages.seen_at,messages.content.flash,new-thing-2027-01-01",
    );
  });

  t.test("of the other protocols too", async (t) => {
    for (const [value, sent, header] of [
      ["responses=experimental", "responses=experimental", null],
      ["assistants=v2", undefined, "assistants=v2"],
    ] as const) {
      for (const protocol of ["chat", "responses"] as const) {
        const body = bodies[protocol]({ echo: true });
        const answer = await post(gateway, paths[protocol], customer, body, {
          "openai-beta": value,
        });
        t.equal(echoOf(protocol, answer).headers["openai-beta"], sent);
        t.equal(answer.headers.get("x-svc-left-out"), header);
      }
    }
  });
});

t.test(
  "threads are refused in the form after which the official SDK goes on without one",
  async (t) => {
    const create = { type: "create" };
    const next = { type: "continue", previous_message_id: "msg_1" };
    for (const model of [MODELS.messages, TRANSLATED.messages]) {
      for (const [thread, status, type, details] of [
        [
          create,
          400,
          "invalid_request_error",
          { error_code: "thread_unsupported_request", unsupported: ["thread"] },
        ],
        [next, 404, "not_found_error", { error_code: "thread_not_found" }],
      ] as const) {
        const before = await sentUpstream();
        const body = bodies.messages({}, { model, thread });
        const headers = { "anthropic-beta": "message-threads-2026-08-12" };
        const answer = await post(gateway, paths.messages, customer, body, headers);
        t.equal(answer.status, status, answer.text);
        t.equal(answer.json.error.type, type);
        t.match(answer.json.error.message, /^thread: .+; send the whole conversation/);
        t.strictSame(answer.json.error.details, details);
        t.equal(await sentUpstream(), before, "nothing goes upstream");
      }
    }
  },
);

t.test("several answers of a model that is priced per call are refused", async (t) => {
  const model = "req/gpt-4.1-nano";
  const refused = await post(gateway, paths.chat, customer, bodies.chat({}, { model, n: 128 }));
  t.equal(refused.status, 400, refused.text);
  t.equal(refused.json.error.param, "n");
  const one = await post(gateway, paths.chat, customer, bodies.chat({}, { model, n: 1 }));
  t.equal(one.status, 200, one.text);
});

t.test("what is the client's own is not read as a feature", async (t) => {
  const schema = { type: "object", properties: { tools: { type: "mcp" }, Type: {}, N: {} } };
  const own = { tools: [{ type: "mcp" }], image_url: "file:///a", Model: "x" };
  const flat = { ...FLAT, parameters: schema };
  for (const [protocol, fields] of [
    ["chat", { tools: [{ ...OWN, function: { name: "own", parameters: schema } }] }],
    ["chat", said({ type: "image_url", image_url: { url: "https://a.example/a.png" } })],
    ["chat", said({ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } })],
    ["messages", { tools: [{ name: "own", input_schema: schema }] }],
    [
      "messages",
      {
        tools: [{ name: "own", input_schema: schema }],
        messages: [
          { role: "user", content: "x" },
          { role: "assistant", content: [{ type: "tool_use", id: "t", name: "own", input: own }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "x" }] },
        ],
      },
    ],
    ["responses", { tools: [flat] }],
    ["responses", found(flat)],
    [
      "responses",
      {
        tools: [flat],
        input: [
          { type: "function_call", call_id: "c", name: "own", arguments: JSON.stringify(own) },
          { type: "function_call_output", call_id: "c", output: JSON.stringify(own) },
        ],
      },
    ],
  ] as const) {
    const body = { ...bodies[protocol]({}, { model: MODELS[protocol] }), ...fields };
    const answer = await post(gateway, paths[protocol], customer, body);
    t.equal(answer.status, 200, `${JSON.stringify(fields)}: ${answer.text}`);
    t.equal(answer.headers.get("x-svc-left-out"), null);
  }
});

t.test("other fields go upstream in any spelling", async (t) => {
  const fields = { topP: 1, promptCacheKey: "a", thinkingConfig: {}, Metadata: {}, __proto__: {} };
  const answer = await post(gateway, paths.chat, customer, { ...bodies.chat(), ...fields });
  t.equal(answer.json.error.code, "unknown_parameter", "the provider has refused it");
});

t.test("names of fields for images and speech", async (t) => {
  const image = "data:image/png;base64,iVBORw0KGgo=";
  for (const [endpoint, fields, param] of [
    ["edits", { image, n: 1, "n[]": 10 }, "n"],
    ["edits", { image, "quality[]": "high" }, "quality"],
    ["edits", { image, "size[0]": "4096x4096" }, "size"],
    ["edits", { image, "a b": 1 }, "a"],
    ["edits", { image, N: 10 }, "n"],
    ["edits", { image, inputFidelity: "high" }, "input_fidelity"],
    ["images", { N: 10 }, "n"],
    ["images", { Quality: "high" }, "quality"],
    ["images", { "n[]": 10 }, "n"],
    ["speech", { Input: "x".repeat(100_000) }, "input"],
  ] as const) {
    const body = { ...(endpoint === "speech" ? bodies.speech() : bodies.images()), ...fields };
    const answer = await post(gateway, paths[endpoint], customer, body);
    t.equal(answer.status, 400, `${JSON.stringify(fields)}: ${answer.text}`);
    t.equal(answer.json.error.param, param);
  }
});

/** The request that the simulated provider received, out of the text of its reply. */
function echoOf(protocol: Chat, { json }: Answer) {
  switch (protocol) {
    case "messages":
      return echoIn(json.content?.[0]?.text);
    case "chat":
      return echoIn(json.choices?.[0]?.message?.content);
    case "responses":
      return echoIn(json.output?.[0]?.content?.[0]?.text);
  }
}

/** How many calls the simulated provider has received. */
async function sentUpstream(): Promise<number> {
  const tallies = Object.values(await gateway.simulator.stats());
  return tallies.reduce((sum, { calls = 0 }) => sum + calls, 0);
}
