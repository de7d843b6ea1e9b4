import t from "tap";
import type { JsonObject } from "../../../core/process/json.ts";
import { chatContext } from "../../../plugins/translate/chat/read/request.ts";
import { chatToMessagesResponse } from "../../../plugins/translate/chat/read/stream.ts";
import { messagesContext } from "../../../plugins/translate/chat/write/request.ts";
import { messagesToChatResponse } from "../../../plugins/translate/chat/write/response.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import { countingText, NOW_MS } from "./harness.ts";
import { mismatch } from "./match.ts";

const ABSENT = { $absent: true };

t.test("answers for Messages clients", async (t) => {
  const context = messagesContext({ model: "m" }, chatProfile());
  const answer = (message: JsonObject, choice: JsonObject = {}, body: JsonObject = {}) =>
    chatToMessagesResponse(
      {
        id: "chatcmpl-1",
        choices: [{ index: 0, message, finish_reason: "stop", ...choice }],
        ...body,
      },
      context,
      countingText(),
    );
  const rules: readonly [string, ReturnType<typeof answer>, JsonObject][] = [
    [
      "nothing at all",
      answer({ content: null }),
      { status: 200, body: { content: [], stop_reason: "end_turn" } },
    ],
    [
      "an upstream's own words for its failure",
      answer({}, { finish_reason: "error", error: { code: 503, message: "x" } }),
      { status: 529 },
    ],
    [
      "a call goes before a stop sequence",
      answer({ tool_calls: [{ id: "a", function: { name: "f" } }] }, { stop_reason: "###" }),
      { body: { stop_reason: "tool_use", content: [{ input: { $exact: {} } }] } },
    ],
    [
      "a call without a name is none",
      answer({ tool_calls: [{ id: "a", function: { arguments: "{}" } }] }),
      { body: { stop_reason: "end_turn", content: [] } },
    ],
    [
      "no id",
      answer({ tool_calls: [{ function: { name: "f" } }] }),
      { body: { content: [{ id: { $regex: "^toolu_[0-9A-Za-z]{24}$" } }] } },
    ],
    [
      "calls without ids and without arguments keep their order",
      answer({
        tool_calls: ["", '{"x":1}', undefined, "{}"].map((args, at) => ({
          function: { name: `f${at}`, ...(args !== undefined && { arguments: args }) },
        })),
      }),
      { body: { content: [{ name: "f0" }, { name: "f1" }, { name: "f2" }, { name: "f3" }] } },
    ],
    [
      "a refusal beside a blank text",
      answer({ content: " ", refusal: "no way" }),
      { body: { content: [{ text: "no way" }], stop_reason: "refusal" } },
    ],
    [
      "a message id of this protocol",
      answer({ content: "x" }, {}, { id: "msg_7" }),
      { body: { id: "msg_7" } },
    ],
    [
      "no message id",
      answer({ content: "x" }, {}, { id: undefined }),
      { body: { id: { $regex: "^msg_[0-9A-Za-z]{24}$" } } },
    ],
    [
      "text and a refusal",
      answer({ content: "x", refusal: "no" }),
      {
        body: {
          content: [{ text: "x" }],
          stop_reason: "refusal",
          stop_details: { explanation: "no" },
        },
      },
    ],
    [
      "an empty signature is text of no length",
      answer({ content: "x", thinking_blocks: [{ type: "thinking", thinking: "t" }] }),
      { body: { content: [{ $exact: { type: "thinking", thinking: "t", signature: "" } }, {}] } },
    ],
    [
      "more cached tokens than the prompt has, which are beside it",
      answer({}, {}, { usage: { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 9 } } }),
      { body: { usage: { input_tokens: 5, cache_read_input_tokens: 9 } } },
    ],
    [
      "cache tokens under the names of this protocol",
      answer(
        {},
        {},
        { usage: { prompt_tokens: 9, cache_read_input_tokens: 2, cache_creation_input_tokens: 3 } },
      ),
      {
        body: {
          usage: { input_tokens: 4, cache_read_input_tokens: 2, cache_creation_input_tokens: 3 },
        },
      },
    ],
    [
      "no reasoning at all is still a measure",
      answer(
        {},
        {},
        { usage: { completion_tokens: 1, completion_tokens_details: { reasoning_tokens: 0 } } },
      ),
      { body: { usage: { output_tokens: 1, output_tokens_details: { thinking_tokens: 0 } } } },
    ],
    [
      "an error with a status of its own",
      chatToMessagesResponse({ error: { message: "x", code: 429 } }, context),
      { status: 429, body: { error: { type: "rate_limit_error" } } },
    ],
    [
      "an error instead of a reply",
      chatToMessagesResponse({ error: "x" }, context),
      { status: 502, body: { error: { message: "x" } } },
    ],
    [
      "no choices and no error",
      chatToMessagesResponse({ id: "1" }, context),
      { status: 502, body: { error: { type: "api_error" } } },
    ],
    ["no object", chatToMessagesResponse("<html>", context), { status: 502 }],
  ];
  for (const [rule, reply, seen] of rules) {
    t.test(rule, async (t) => t.equal(mismatch(reply, seen), undefined));
  }
});

t.test("answers for Chat clients", async (t) => {
  const answer = (fields: JsonObject, request: JsonObject = {}) =>
    messagesToChatResponse(
      { id: "msg_1", type: "message", content: [], stop_reason: "end_turn", ...fields },
      chatContext({ model: "m", ...request }),
      NOW_MS,
      countingText(),
    );
  const message = (seen: JsonObject, finish = "stop") => ({
    status: 200,
    body: { choices: [{ message: seen, finish_reason: finish }] },
  });
  const call = { type: "tool_use", id: "t", name: "f", input: { a: 1 } };
  const citation = { type: "web_search_result_location", url: "https://x.test", title: null };
  const rules: readonly [string, ReturnType<typeof answer>, JsonObject][] = [
    [
      "when and by whom it was made",
      answer({}),
      { body: { id: "chatcmpl-msg_1", created: NOW_MS / 1000, model: "m" } },
    ],
    [
      "thinking can be sent back if it is signed",
      answer({
        content: [
          { type: "thinking", thinking: "a", signature: "s" },
          { type: "redacted_thinking", data: "d" },
          { type: "thinking", thinking: "b", signature: "" },
        ],
      }),
      message({
        content: "",
        reasoning_content: "ab",
        thinking_blocks: {
          $exact: [
            { type: "thinking", thinking: "a", signature: "s" },
            { type: "redacted_thinking", data: "d" },
          ],
        },
      }),
    ],
    [
      "text around a server's tool is one text",
      answer({
        content: [
          { type: "text", text: "a" },
          { type: "server_tool_use" },
          { type: "text", text: "b" },
        ],
      }),
      message({ content: "ab", tool_calls: ABSENT }),
    ],
    [
      "a citation without a title",
      answer({ content: [{ type: "text", text: "a", citations: [citation] }] }),
      message({ annotations: [{ url_citation: { title: "", start_index: 0, end_index: 1 } }] }),
    ],
    [
      "a call",
      answer({ content: [call], stop_reason: "tool_use" }),
      message({ content: null, tool_calls: [{}] }, "tool_calls"),
    ],
    [
      "a custom call without a text",
      answer(
        { content: [{ ...call, name: "sh" }] },
        { tools: [{ type: "custom", custom: { name: "sh" } }] },
      ),
      message({ tool_calls: [{ custom: { input: '{"a":1}' } }] }, "tool_calls"),
    ],
    [
      "a custom tool by a name that had to change",
      answer(
        { content: [{ ...call, name: "my_sh_b2b7796090e8", input: { input: "x" } }] },
        { tools: [{ type: "custom", custom: { name: "my.sh" } }] },
      ),
      message(
        { tool_calls: [{ id: "t", type: "custom", custom: { name: "my.sh", input: "x" } }] },
        "tool_calls",
      ),
    ],
    [
      "usage with caches",
      answer({
        usage: {
          input_tokens: 1,
          cache_read_input_tokens: 2,
          cache_creation_input_tokens: null,
          output_tokens: 3,
        },
      }),
      {
        body: {
          usage: {
            prompt_tokens: 3,
            completion_tokens: 3,
            total_tokens: 6,
            completion_tokens_details: ABSENT,
          },
        },
      },
    ],
    [
      "an error instead of a reply",
      messagesToChatResponse(
        { type: "error", error: { type: "overloaded_error", message: "x" } },
        chatContext({}),
        NOW_MS,
      ),
      { status: 503 },
    ],
    [
      "no content",
      messagesToChatResponse({ id: "1" }, chatContext({}), NOW_MS),
      { status: 502, body: { error: { type: "server_error" } } },
    ],
  ];
  for (const [rule, reply, seen] of rules) {
    t.test(rule, async (t) =>
      t.equal(mismatch(JSON.parse(JSON.stringify(reply)), seen), undefined),
    );
  }
});
