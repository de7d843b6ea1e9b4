import t from "tap";
import { messagesRules } from "./requests.ts";

const ABSENT = { $absent: true };
const LONG_NAME = `mcp__${"n".repeat(80)}`;
const SHORT_NAME = `mcp__${"n".repeat(46)}_`;
const TOOL = { name: "f", input_schema: { type: "object", properties: {} } };

function use(id: string, extra: object = {}): object {
  return { type: "tool_use", id, name: "f", input: {}, ...extra };
}

function result(id: string, extra: object = {}): object {
  return { type: "tool_result", tool_use_id: id, ...extra };
}

function assistant(...content: object[]): object {
  return { role: "assistant", content };
}

function user(...content: object[]): object {
  return { role: "user", content };
}

const Q = { role: "user", content: "q" };

t.test("Messages requests: top level", async (t) => {
  messagesRules(t, [
    { rule: "max_tokens of zero", given: { max_tokens: 0 }, rejected: "max_tokens:" },
    { rule: "max_tokens as text", given: { max_tokens: "9" }, rejected: "max_tokens:" },
    { rule: "max_tokens in parts", given: { max_tokens: 1.5 }, rejected: "max_tokens:" },
    {
      rule: "the cap's name can be configured apart from the dialect",
      profile: { dialect: "compatible", max_tokens_field: "max_completion_tokens" },
      given: {},
      sent: { max_completion_tokens: 100, max_tokens: ABSENT },
    },
    {
      rule: "container",
      given: { container: "c" },
      rejected: "container:",
      code: "unsupported_parameter",
    },
    { rule: "MCP servers", given: { mcp_servers: [{}] }, rejected: "mcp_servers:" },
    { rule: "no MCP servers", given: { mcp_servers: [] }, sent: { mcp_servers: ABSENT } },
    { rule: "no residency", given: { inference_geo: null }, sent: { inference_geo: ABSENT } },
    {
      rule: "dropped hints are named, in order, and only with harmless names",
      given: { speed: "fast", "x\r\ny": 1, betas: ["b"], top_k: 5, diagnostics: {} },
      sent: { speed: ABSENT, betas: ABSENT },
      dropped: ["speed", "betas", "diagnostics", "top_k"],
    },
    {
      rule: "top_k if it is accepted",
      profile: { top_k: true },
      given: { top_k: 5 },
      sent: { top_k: 5 },
    },
    {
      rule: "temperature of another protocol",
      given: { temperature: 1.5 },
      rejected: "temperature:",
    },
    { rule: "temperature as text", given: { temperature: "hot" }, rejected: "temperature:" },
    {
      rule: "an empty stop alone is no stop",
      given: { stop_sequences: [""] },
      sent: { stop: ABSENT },
    },
    {
      rule: "four stops and an empty one",
      given: { stop_sequences: ["1", "2", "", "3", "4"] },
      sent: { stop: ["1", "2", "3", "4"] },
    },
    {
      rule: "a stop that is a number",
      given: { stop_sequences: [1] },
      rejected: "stop_sequences[0]:",
    },
    {
      rule: "not streamed",
      given: { stream: false },
      sent: { stream: false, stream_options: ABSENT },
    },
    { rule: "stream as text", given: { stream: "yes" }, rejected: "stream:" },
    {
      rule: "a user id of 64 characters",
      given: { metadata: { user_id: "u".repeat(64) } },
      sent: { user: "u".repeat(64) },
    },
    {
      rule: "a user id of 65 characters",
      given: { metadata: { user_id: "u".repeat(65) } },
      sent: { user: { $regex: "^[0-9a-f]{64}$" } },
    },
    { rule: "metadata of another shape", given: { metadata: "u" }, rejected: "metadata:" },
    { rule: "service tier auto", given: { service_tier: "auto" }, sent: { service_tier: "auto" } },
    { rule: "a system that is a number", given: { system: 5 }, rejected: "system:" },
    {
      rule: "a system with an image",
      given: { system: [{ type: "image" }] },
      rejected: "system[0].type:",
    },
    {
      rule: "telemetry is one line of the system prompt",
      given: { system: "x-anthropic-billing-header: cch=1;\nBe brief." },
      sent: { messages: [{ role: "system", content: "Be brief." }, Q] },
    },
    {
      rule: "telemetry is one block of the system prompt",
      given: {
        system: [
          { type: "text", text: "x-anthropic-billing-header: cch=1;" },
          { type: "text", text: "Be brief." },
        ],
      },
      sent: { messages: [{ role: "system", content: "Be brief." }, Q] },
    },
    { rule: "messages that are no array", given: { messages: "q" }, rejected: "messages:" },
    { rule: "a message that is no object", given: { messages: [1] }, rejected: "messages[0]:" },
    {
      rule: "a role of another protocol",
      given: { messages: [{ role: "tool" }] },
      rejected: "messages[0].role:",
    },
    {
      rule: "nothing but an empty turn",
      given: { messages: [{ role: "user", content: "" }] },
      rejected: "messages:",
    },
  ]);
});

t.test("Messages requests: content", async (t) => {
  messagesRules(t, [
    {
      rule: "a lone text block is a string, a lone document is not",
      given: {
        messages: [
          user({ type: "text", text: "" }, { type: "text", text: "a" }),
          user({ type: "document", source: { type: "text", data: "D" }, context: "C" }),
        ],
      },
      sent: {
        messages: [
          { role: "user", content: "a" },
          { role: "user", content: [{ type: "text", text: "C\nD" }] },
        ],
      },
    },
    {
      rule: "a PDF is a file with its title for a name",
      given: {
        messages: [
          user({
            type: "document",
            title: "a.pdf",
            source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
          }),
        ],
      },
      sent: {
        messages: [
          {
            content: [
              {
                type: "file",
                file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
              },
            ],
          },
        ],
      },
    },
    {
      rule: "a document by file id",
      given: { messages: [user({ type: "document", source: { type: "file", file_id: "f" } })] },
      rejected: "messages[0].content[0].source:",
      code: "unsupported_parameter",
    },
    {
      rule: "an upload into a container",
      given: { messages: [user({ type: "container_upload" })] },
      rejected: "messages[0].content[0].type:",
    },
    {
      rule: "a block without a type",
      given: { messages: [user({})] },
      rejected: "messages[0].content[0].type:",
    },
    {
      rule: "an image without a source",
      given: { messages: [user({ type: "image" })] },
      rejected: "messages[0].content[0].source:",
    },
    {
      rule: "media of tool results follow all tool messages, each group led by its call",
      given: {
        messages: [
          Q,
          assistant(use("a"), use("b")),
          user(
            { type: "text", text: "look" },
            result("a", {
              content: [
                { type: "text", text: "shot" },
                { type: "image", source: { type: "url", url: "https://x.test/1.png" } },
              ],
            }),
            result("b", {
              is_error: true,
              content: [{ type: "image", source: { type: "url", url: "https://x.test/2.png" } }],
            }),
          ),
        ],
      },
      sent: {
        messages: [
          Q,
          { role: "assistant" },
          { role: "tool", tool_call_id: "a", content: "shot" },
          { role: "tool", tool_call_id: "b", content: "Error: [see attachment below]" },
          {
            role: "user",
            content: [
              { type: "text", text: "Attachment from tool call a:" },
              { type: "image_url", image_url: { url: "https://x.test/1.png" } },
              { type: "text", text: "Attachment from tool call b:" },
              { type: "image_url", image_url: { url: "https://x.test/2.png" } },
              { type: "text", text: "look" },
            ],
          },
        ],
      },
    },
    {
      rule: "an empty tool result, in every form",
      given: {
        messages: [
          Q,
          assistant(use("a"), use("b"), use("c"), use("d")),
          user(
            result("a"),
            result("b", { content: null }),
            result("c", { content: "" }),
            result("d", { content: [] }),
          ),
        ],
      },
      sent: {
        messages: [Q, {}, { content: "" }, { content: "" }, { content: "" }, { content: "" }],
      },
    },
    {
      rule: "thinking never reaches the content",
      given: {
        messages: [
          Q,
          assistant(
            { type: "thinking", thinking: "secret", signature: "s" },
            { type: "redacted_thinking", data: "d" },
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ),
        ],
      },
      sent: { messages: { $exact: [Q, { role: "assistant", content: "ab" }] } },
    },
    {
      rule: "an unknown block in a turn of the assistant",
      given: { messages: [Q, assistant({ type: "shiny" })] },
      rejected: "messages[1].content[0].type:",
    },
    {
      rule: "an input without a value is an empty one",
      given: {
        messages: [Q, assistant(use("a", { input: null })), user(result("a"))],
      },
      sent: { messages: [Q, { tool_calls: [{ function: { arguments: "{}" } }] }, {}] },
    },
    {
      rule: "an input that is no object",
      given: { messages: [Q, assistant(use("a", { input: "x" })), user(result("a"))] },
      rejected: "messages[1].content[0].input:",
    },
  ]);
});

t.test("Messages requests: order and pairing", async (t) => {
  const calls = [Q, assistant(use("a"))];
  messagesRules(t, [
    {
      rule: "a result without a call",
      given: { messages: [Q, user(result("ghost"))] },
      rejected: "messages[1].content[0].tool_use_id: ghost",
      code: null,
    },
    {
      rule: "a second result of one call",
      given: { messages: [...calls, user(result("a"), result("a"))] },
      rejected: "messages[2].content[1].tool_use_id: a",
    },
    { rule: "a call at the very end", given: { messages: calls }, rejected: "messages: " },
    {
      rule: "one id for two calls of a turn",
      given: { messages: [Q, assistant(use("a"), use("a")), user(result("a"))] },
      rejected: "messages[1].content[1].id:",
    },
    {
      rule: "a system entry between a call and its result is moved after the result",
      given: { messages: [...calls, { role: "system", content: "S" }, user(result("a"))] },
      sent: {
        messages: [Q, { role: "assistant" }, { role: "tool" }, { role: "system", content: "S" }],
      },
    },
    {
      rule: "the same as a user message",
      profile: { mid_system: "user" },
      given: {
        messages: [
          ...calls,
          { role: "system", content: "S" },
          user(result("a"), { type: "text", text: "t" }),
        ],
      },
      sent: {
        messages: [
          Q,
          { role: "assistant" },
          { role: "tool" },
          { role: "user", content: "<system-reminder>S</system-reminder>" },
          { role: "user", content: "t" },
        ],
      },
    },
    {
      rule: "hoisted entries follow the system prompt, in order",
      profile: { mid_system: "hoist" },
      given: {
        system: "A",
        messages: [
          Q,
          { role: "system", content: "B" },
          { role: "assistant", content: "x" },
          { role: "system", content: "C" },
        ],
      },
      sent: { messages: [{ role: "system", content: "A\n\nB\n\nC" }, Q, { role: "assistant" }] },
    },
    {
      rule: "results in two turns of the user still follow the calls",
      given: {
        messages: [
          Q,
          assistant(use("a"), use("b")),
          user(result("a"), { type: "text", text: "one" }),
          user(result("b"), { type: "text", text: "two" }),
        ],
      },
      sent: {
        messages: [
          Q,
          {},
          { role: "tool", tool_call_id: "a" },
          { role: "tool", tool_call_id: "b" },
          { role: "user", content: "one" },
          { role: "user", content: "two" },
        ],
      },
    },
    {
      rule: "text after a call joins the calling turn, so that call and result stay together",
      given: { messages: [...calls, { role: "assistant", content: "wait" }, user(result("a"))] },
      sent: {
        messages: [
          Q,
          { role: "assistant", content: "wait", tool_calls: [{ id: "a" }] },
          { role: "tool" },
        ],
      },
    },
    {
      rule: "neighbouring turns of one role stay apart",
      given: {
        messages: [Q, Q, { role: "assistant", content: "a" }, { role: "assistant", content: "b" }],
      },
      sent: { messages: [Q, Q, { content: "a" }, { content: "b" }] },
    },
    {
      rule: "an id too long for OpenAI is shortened on both ends alike",
      given: { messages: [Q, assistant(use("i".repeat(41))), user(result("i".repeat(41)))] },
      sent: {
        messages: [
          Q,
          { tool_calls: [{ id: "call_2f53ab97230bb0423a8164fc990fad9e" }] },
          { tool_call_id: "call_2f53ab97230bb0423a8164fc990fad9e" },
        ],
      },
    },
    {
      rule: "an id of 40 characters is not",
      given: { messages: [Q, assistant(use("i".repeat(40))), user(result("i".repeat(40)))] },
      sent: { messages: [Q, { tool_calls: [{ id: "i".repeat(40) }] }, {}] },
    },
    {
      rule: "compatible servers take ids of any length",
      profile: { dialect: "compatible" },
      given: { messages: [Q, assistant(use("i".repeat(99))), user(result("i".repeat(99)))] },
      sent: { messages: [Q, { tool_calls: [{ id: "i".repeat(99) }] }, {}] },
    },
  ]);
});

const changing = (...content: unknown[]) => ({ role: "system", content });
const adding = (tool: object) => ({ type: "tool_addition", tool });
const defining = (definition: object) => adding({ type: "tool_definition", definition });
const removing = (name: string) => ({
  type: "tool_removal",
  tool: { type: "tool_reference", name },
});

t.test("Messages requests: tools", async (t) => {
  messagesRules(t, [
    {
      rule: "tools that turns of the system add, change and remove become one list",
      given: {
        tools: [TOOL, { ...TOOL, name: "g" }, { ...TOOL, name: "h" }],
        messages: [
          Q,
          changing(removing("f"), removing("g"), { type: "text", text: "t" }),
          changing(adding({ type: "tool_reference", name: "g" })),
          changing(
            defining({ ...TOOL, name: LONG_NAME }),
            defining({ ...TOOL, name: "h", description: "d" }),
          ),
        ],
      },
      sent: {
        tools: [
          { function: { name: "g" } },
          { function: { name: "h", description: "d" } },
          { function: { name: { $regex: `^${SHORT_NAME}` } } },
        ],
        messages: [Q, { role: "system", content: "t" }],
      },
      dropped: [],
    },
    {
      rule: "settings of a turn are named, and a turn that has nothing else is left out",
      given: {
        messages: [Q, { role: "system", output_config: { effort: "low" } }, { ...Q, seen_at: 1 }],
      },
      sent: { messages: [Q, Q] },
      dropped: ["messages.output_config", "messages.seen_at"],
    },
    {
      rule: "any call",
      given: { tools: [TOOL], tool_choice: { type: "any" } },
      sent: { tool_choice: "required", parallel_tool_calls: ABSENT },
    },
    {
      rule: "no call",
      given: { tools: [TOOL], tool_choice: { type: "none" } },
      sent: { tool_choice: "none", tools: [{}] },
    },
    {
      rule: "one call at a time",
      given: { tools: [TOOL], tool_choice: { type: "auto", disable_parallel_tool_use: true } },
      sent: { tool_choice: "auto", parallel_tool_calls: false },
    },
    {
      rule: "an unknown choice",
      given: { tools: [TOOL], tool_choice: {} },
      rejected: "tool_choice.type:",
    },
    {
      rule: "an undeclared tool",
      given: { tools: [TOOL], tool_choice: { type: "tool", name: "g" } },
      rejected: "tool_choice.name:",
    },
    {
      rule: "a tool that the provider runs is named by its type",
      given: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
      rejected: "tools[0].type: web_search_20250305 cannot be translated",
      code: "unsupported_parameter",
    },
    {
      rule: "parameters are completed, not changed, and keys of the tool stay out of them",
      given: {
        tools: [
          {
            type: "custom",
            name: "f",
            description: "d",
            input_schema: { type: null, $defs: { x: {} }, required: [] },
            defer_loading: true,
            allowed_callers: ["direct"],
          },
        ],
      },
      sent: {
        tools: {
          $exact: [
            {
              type: "function",
              function: {
                name: "f",
                description: "d",
                parameters: { type: "object", $defs: { x: {} }, required: [], properties: {} },
              },
            },
          ],
        },
      },
    },
    {
      rule: "strict without closed parameters is dropped",
      given: { tools: [{ name: "f", strict: true }] },
      sent: { tools: [{ function: { strict: ABSENT } }] },
      dropped: ["strict"],
    },
    {
      rule: "a long name is shortened in tools, choice and history alike",
      given: {
        tools: [{ ...TOOL, name: LONG_NAME }],
        tool_choice: { type: "tool", name: LONG_NAME },
        messages: [Q, assistant(use("a", { name: LONG_NAME })), user(result("a"))],
      },
      sent: {
        tools: [{ function: { name: { $regex: `^${SHORT_NAME}[0-9a-f]{12}$` } } }],
        tool_choice: { function: { name: { $regex: `^${SHORT_NAME}[0-9a-f]{12}$` } } },
        messages: [Q, { tool_calls: [{ function: { name: { $regex: `^${SHORT_NAME}` } } }] }, {}],
      },
    },
    { rule: "a tool without a name", given: { tools: [{}] }, rejected: "tools[0].name:" },
  ]);
});

t.test("Messages requests: effort and format", async (t) => {
  const thinking = (budget: number) => ({ thinking: { type: "enabled", budget_tokens: budget } });
  const schema = { type: "object", properties: {}, additionalProperties: false };
  messagesRules(t, [
    { rule: "a budget of 4095", given: thinking(4095), sent: { reasoning_effort: "low" } },
    { rule: "a budget of 4096", given: thinking(4096), sent: { reasoning_effort: "medium" } },
    { rule: "a budget of 16384", given: thinking(16_384), sent: { reasoning_effort: "high" } },
    {
      rule: "no budget",
      given: { thinking: { type: "enabled" } },
      rejected: "thinking.budget_tokens:",
    },
    {
      rule: "effort takes precedence over a budget",
      given: { ...thinking(1024), output_config: { effort: "high" } },
      sent: { reasoning_effort: "high" },
    },
    {
      rule: "more than the model supports",
      given: { output_config: { effort: "max" } },
      sent: { reasoning_effort: "high" },
    },
    {
      rule: "less than the model supports",
      profile: { effort_levels: ["high", "max"] },
      given: { output_config: { effort: "low" } },
      sent: { reasoning_effort: "high" },
    },
    {
      rule: "an unknown effort",
      given: { output_config: { effort: "ultra" } },
      rejected: "output_config.effort:",
    },
    {
      rule: "a model without effort",
      profile: { reasoning: "none" },
      given: thinking(4096),
      sent: { reasoning_effort: ABSENT },
      dropped: ["thinking"],
    },
    {
      rule: "the older field for a format, named by its title",
      given: {
        output_format: { type: "json_schema", schema: { ...schema, title: "Städte & mehr" } },
      },
      sent: { response_format: { json_schema: { name: "St_dte___mehr", strict: true } } },
    },
    {
      rule: "an unknown format",
      given: { output_format: { type: "xml" } },
      rejected: "output_format.type:",
    },
    {
      rule: "a format without a schema",
      given: { output_config: { format: { type: "json_schema" } } },
      rejected: "output_config.format.schema:",
    },
    {
      rule: "data that looks like a schema does not prevent strict mode",
      given: {
        output_format: {
          type: "json_schema",
          schema: { ...schema, properties: { a: { enum: [{ type: "object" }] } }, required: ["a"] },
        },
      },
      sent: { response_format: { json_schema: { strict: true } } },
    },
    {
      rule: "earlier thinking is sent back if the model needs it",
      profile: { replay: "reasoning_content" },
      given: {
        messages: [
          Q,
          assistant(
            { type: "thinking", thinking: "a" },
            { type: "text", text: "t" },
            { type: "thinking", thinking: "b" },
          ),
        ],
      },
      sent: { messages: [Q, { content: "t", reasoning_content: "ab" }] },
    },
  ]);
});
