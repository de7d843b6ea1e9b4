import t from "tap";
import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/process/json.ts";
import { chatToMessagesResponse } from "../../../plugins/translate/chat/read/stream.ts";
import { messagesContext } from "../../../plugins/translate/chat/write/request.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import { assembleMessages } from "./assemble.ts";
import { run, serialise } from "./harness.ts";

const context = messagesContext({ model: "m" }, chatProfile());
const whole = [{ function: { name: "f", arguments: '{"c":1}' } }];
const cut = [{ function: { name: "f", arguments: '{"c":"half' } }];

/** The model's reply, its finish reason, and how the reply ends: an error is 502. */
const ROWS: readonly (readonly [said: JsonObject, reason: string, ends: string])[] = [
  [{ content: "a" }, "stop", "end_turn"],
  [{ content: "a" }, "STOP", "end_turn"],
  [{ content: "a" }, "length", "max_tokens"],
  [{ content: "a" }, "model_length", "max_tokens"],
  [{ content: "a" }, "content_filter", "refusal"],
  [{ content: "a" }, "content_filter: PROHIBITED_CONTENT", "refusal"],
  [{ content: "a" }, "sensitive", "refusal"],
  [{ content: "" }, "SPII", "refusal"],
  [{ content: "a" }, "model_context_window_exceeded", "model_context_window_exceeded"],
  [{ content: "a" }, "function_call_filter: UNEXPECTED_TOOL_CALL", "error"],
  [{ content: "a" }, "insufficient_system_resource", "error"],
  [{ content: "a" }, "OTHER", "end_turn"],
  [{ content: "" }, "OTHER", "error"],
  [{ content: "a" }, "of a later year", "end_turn"],
  [{ content: "" }, "of a later year", "error"],
  [{ content: "" }, "stop", "end_turn"],
  [{ tool_calls: whole }, "tool_calls", "tool_use"],
  [{ tool_calls: whole }, "stop", "tool_use"],
  [{ tool_calls: whole }, "of a later year", "tool_use"],
  [{ tool_calls: cut }, "tool_calls", "tool_use"],
  [{ tool_calls: cut }, "length", "max_tokens"],
  [{ tool_calls: cut }, "sensitive", "refusal"],
  [{ tool_calls: cut }, "model_context_window_exceeded", "model_context_window_exceeded"],
  [{ tool_calls: cut }, "of a later year", "max_tokens"],
  [{ tool_calls: cut }, "", "max_tokens"],
];

t.test("a provider's finish reason has its meaning, in whole replies and in streams", async (t) => {
  for (const [said, finish_reason, ends] of ROWS) {
    const what = `${JSON.stringify(said)} ${finish_reason}`;
    const choice = { message: { role: "assistant", ...said }, finish_reason };
    const { status, body } = chatToMessagesResponse({ choices: [choice] }, context);
    t.equal(status === 200 ? objectOf(body)?.["stop_reason"] : "error", ends, what);

    const calls = arrayOf(said["tool_calls"]).filter(isObject);
    const delta = {
      ...said,
      ...(calls.length > 0 && { tool_calls: calls.map((call, index) => ({ index, ...call })) }),
    };
    const events = serialise([
      { data: { choices: [{ index: 0, delta }] } },
      { data: { choices: [{ index: 0, delta: {}, finish_reason: finish_reason || null }] } },
      { data: "[DONE]" },
    ]);
    const side = run("messages", { model: "m", stream: true }, {}, [events], "eof").clientSide();
    const { stop_reason, error, http_error } = assembleMessages(side);
    t.equal(error || http_error ? "error" : stop_reason, ends, `streamed: ${what}`);
  }
});
