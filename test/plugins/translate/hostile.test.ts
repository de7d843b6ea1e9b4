import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import type { Profile } from "../../../core/catalogue/profile.ts";
import { isObject, type JsonObject } from "../../../core/process/json.ts";
import {
  chatContext,
  chatToMessagesRequest,
} from "../../../plugins/translate/chat/read/request.ts";
import { chatToMessagesResponse } from "../../../plugins/translate/chat/read/stream.ts";
import { messagesContext } from "../../../plugins/translate/chat/write/request.ts";
import { messagesToChatResponse } from "../../../plugins/translate/chat/write/response.ts";
import { chatErrorToMessages, messagesErrorToChat } from "../../../plugins/translate/errors.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import { chatRequest, damaged, messagesRequest } from "./conversations.ts";
import { type Client, NOW_MS, Recorder, translator } from "./harness.ts";
import {
  checkChatRequest,
  checkChatStream,
  checkMessagesRequest,
  checkMessagesStream,
} from "./invariants.ts";
import { translated } from "./requests.ts";

/** Every keyword of the protocols, so that random objects get deep into the code. */
const KEYS = [
  ..."model messages role content type text source data media_type url title context".split(" "),
  ..."tool_use_id id name input is_error thinking signature tools tool_choice system".split(" "),
  ..."input_schema properties required strict max_tokens stop_sequences metadata user_id".split(
    " ",
  ),
  ..."output_config format schema effort budget_tokens cache_control stream stop n user".split(" "),
  ..."tool_calls function arguments tool_call_id function_call functions custom format".split(" "),
  ..."thinking_blocks response_format json_schema reasoning_effort image_url file".split(" "),
  ..."file_data filename choices index delta message finish_reason usage error code status".split(
    " ",
  ),
  ..."content_block partial_json stop_reason stop_details explanation reasoning_details".split(" "),
  ..."prompt_tokens completion_tokens_details reasoning_tokens citations detail refusal".split(" "),
  ..."stream_options include_usage allowed_tools mode __proto__ constructor".split(" "),
];
const VALUES = [
  ..."user assistant system developer tool function custom auto any none required tool".split(" "),
  ..."text image document search_result tool_use tool_result thinking tool_reference".split(" "),
  ..."redacted_thinking server_tool_use base64 file json_schema json_object enabled".split(" "),
  ..."adaptive image_url application/pdf image/png low high stop length tool_calls error".split(
    " ",
  ),
  ..."message_start content_block_start content_block_delta content_block_stop".split(" "),
  ..."message_delta message_stop ping text_delta input_json_delta thinking_delta".split(" "),
  ...'signature_delta refusal call_1 toolu_1 f:0 allowed_tools grammar {} {"a":1} [1]'.split(" "),
  "",
  " ",
  "data:image/png;base64,AAAA",
  "https://x.test/a.pdf",
  '{"a":',
];

const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, depthSize: "small" },
    fc.constantFrom<unknown>(...VALUES),
    fc.constantFrom<unknown>(null, true, false, 0, 1, -1, 1.5, 2048, 1e308),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie("json"), { maxKeys: 7 }),
  ),
}));
const object = fc.dictionary(fc.constantFrom(...KEYS), json, { maxKeys: 9 });

const PROFILES: readonly Profile[] = [
  {},
  { dialect: "compatible", cache_control: "keep", mid_system: "user", replay: "reasoning_content" },
  { mid_system: "hoist", sampling: "none", thinking: "budget" },
  { mid_system: "inline", prefill: false, sampling: "both" },
];
const profiles = fc.constantFrom(...PROFILES);

const block = fc.record(
  {
    type: fc.constantFrom("text", "tool_use", "tool_result", "thinking", "image"),
    text: json,
    id: json,
    name: json,
    input: json,
    signature: json,
  },
  { requiredKeys: ["type"] },
);
const call = fc.record({ index: json, id: json, function: object });

t.test("hostile requests never throw, and accepted ones are valid", async (t) => {
  t.test("Messages requests", async () => {
    const requests = fc.oneof(
      json,
      object,
      damaged(messagesRequest, json),
      damaged(messagesRequest, json),
    );
    fc.assert(
      fc.property(requests, profiles, (body, profile) => {
        const result = translated("messages", body, profile);
        if (result.ok) checkChatRequest(JSON.parse(JSON.stringify(result.body)));
        else assert.match(result.reject.message, /^[a-z_]+.*: /);
      }),
      { numRuns: 2500 },
    );
  });

  t.test("Chat requests", async () => {
    const requests = fc.oneof(json, object, damaged(chatRequest, json), damaged(chatRequest, json));
    fc.assert(
      fc.property(requests, profiles, (body, profile) => {
        const result = translated("chat", body, profile);
        if (result.ok) checkMessagesRequest(JSON.parse(JSON.stringify(result.body)));
        else assert.match(result.reject.message, /^[a-z_]+.*: /);
      }),
      { numRuns: 2500 },
    );
  });

  t.test("arguments nested too deep are sent as a string", async (t) => {
    const text = `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`;
    const calls = [{ id: "a", function: { name: "f", arguments: text } }];
    const messages = [
      { role: "user", content: "q" },
      { role: "assistant", tool_calls: calls },
      { role: "tool", tool_call_id: "a", content: "r" },
    ];
    const made = chatToMessagesRequest({ messages }, {});
    assert.ok(made.ok);
    const written = JSON.stringify(made.body);
    t.ok(written.includes(JSON.stringify({ _raw_arguments: text })));
  });

  t.test("a field named __proto__ stays a field", async (t) => {
    const text =
      '{"type":"object","properties":{"__proto__":{"type":"string","minLength":1}},"__proto__":{"x":1}}';
    const schema: unknown = JSON.parse(text);
    const format = { type: "json_schema", json_schema: { schema } };
    const body = { messages: [{ role: "user", content: "q" }], response_format: format };
    const result = translated("chat", body);
    assert.ok(result.ok);
    t.match(
      JSON.stringify(result.body),
      /"__proto__":\{"type":"string","description":"minLength: 1"\}/,
    );
  });
});

t.test("hostile replies never throw", async (t) => {
  t.test("arguments nested too deep to serialise", async (t) => {
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`);
    const calls = [{ id: "a", function: { name: "f", arguments: deep } }];
    const answered = chatToMessagesResponse(
      { choices: [{ message: { tool_calls: calls } }] },
      messagesContext({}, chatProfile()),
    );
    t.ok(JSON.stringify(answered.body));
  });

  t.test("unstreamed replies and errors", async () => {
    fc.assert(
      fc.property(fc.oneof(json, object), object, (body, request) => {
        chatToMessagesResponse(body, messagesContext(request, chatProfile()));
        messagesToChatResponse(body, chatContext(request), NOW_MS);
        const errors = [chatErrorToMessages(500, body), messagesErrorToChat(500, body)];
        for (const { status } of errors) assert.ok(status >= 400 && status <= 599);
      }),
      { numRuns: 1500 },
    );
  });

  const choice = fc.record({ index: fc.constantFrom(0, 0, 1), delta: object, finish_reason: json });
  const chunks = fc.oneof(
    object,
    fc.record({ id: json, choices: fc.array(choice, { maxLength: 2 }), usage: json }),
    fc.record({
      choices: fc.tuple(
        fc.record({ delta: fc.record({ content: json, tool_calls: fc.array(call) }) }),
      ),
    }),
  );
  const events = fc.oneof(
    object,
    fc.record({
      type: fc.constantFrom(...VALUES.filter((value) => /^(message|content_block)_/.test(value))),
      index: fc.constantFrom(0, 1),
      content_block: fc.oneof(block, object),
      delta: fc.record({
        type: fc.constantFrom(...VALUES),
        text: json,
        partial_json: json,
        thinking: json,
        signature: json,
        stop_reason: json,
      }),
      message: object,
      usage: object,
    }),
  );

  function fuzzStream(
    client: Client,
    data: fc.Arbitrary<JsonObject>,
    check: (recorder: Recorder) => void,
  ): void {
    const end = fc.constantFrom("eof" as const, "reset" as const);
    fc.assert(
      fc.property(
        fc.array(data, { maxLength: 12 }),
        profiles,
        object,
        fc.boolean(),
        end,
        (all, profile, request, done, how) => {
          const recorder = new Recorder();
          const stream = translator(client, request, profile, recorder);
          for (const item of all) stream.event({ type: undefined, data: JSON.stringify(item) });
          if (done) stream.event({ type: undefined, data: "[DONE]" });
          stream.end(how);
          check(recorder);
        },
      ),
      { numRuns: 1500 },
    );
  }

  t.test("Chat streams", async (t) => {
    fuzzStream("messages", chunks, (recorder) => {
      const side = recorder.clientSide();
      if (side.httpError) t.equal(side.events.length, 0);
      checkMessagesStream(side.events);
    });
  });

  t.test("Messages streams", async (t) => {
    fuzzStream("chat", events, (recorder) => {
      const side = recorder.clientSide();
      if (side.httpError) t.equal(side.events.length, 0);
      const first = side.events[0]?.data;
      checkChatStream(side.events, isObject(first) && "usage" in first);
    });
  });
});
