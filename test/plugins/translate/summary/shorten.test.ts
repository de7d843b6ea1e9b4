import t from "tap";
import { RequestBody } from "../../../../core/body/request-body.ts";
import { ShortenedConversation } from "../../../../plugins/translate/summary/shorten.ts";

const message = "prompt is too long: 300000 tokens > 200000 maximum";
const REFUSAL = { status: 400, body: { error: { code: "context_length_exceeded", message } } };

const LONG = "word ".repeat(10_000);
const ask = { type: "text", text: "Summarize." };
const call = { type: "tool_use", id: "a", name: "look", input: {} };
const result = { type: "tool_result", tool_use_id: "a", content: LONG };
const chatCall = { id: "a", type: "function", function: { name: "look", arguments: "{}" } };
const system = { role: "system", content: "You are an agent." };
const head = (task: string) => ({
  role: "user",
  content: `${task}\n\n[The conversation is too long: a part of it is left out here.]`,
});

/** Returns the messages that go out after the refusal; undefined if nothing does. */
function sentAgain(messages: readonly object[]): unknown {
  const body = RequestBody.of({ messages });
  const conversation = new ShortenedConversation();
  if (!conversation.sendsAgain(REFUSAL, body)) return undefined;
  t.equal(conversation.sendsAgain(REFUSAL, body), false, "only once");
  return conversation.fit(body).read("messages");
}

t.test("a conversation of which no turn of the model fits", async (t) => {
  const rows = [
    [
      "Messages: no result lacks its call",
      [
        { role: "user", content: "build" },
        { role: "assistant", content: [call] },
        { role: "user", content: [result, ask] },
      ],
      [head("build"), { role: "user", content: [ask] }],
    ],
    [
      "Chat",
      [
        ...[system, { role: "user", content: "build" }],
        { role: "assistant", content: null, tool_calls: [chatCall] },
        { role: "tool", tool_call_id: "a", content: LONG },
        { role: "user", content: "Summarize." },
      ],
      [system, head("build"), { role: "user", content: "Summarize." }],
    ],
    [
      "no call before the task lacks its result",
      [
        { role: "assistant", content: [call] },
        { role: "user", content: [result, { type: "text", text: "build" }] },
        { role: "assistant", content: "Done." },
        { role: "user", content: [ask] },
      ],
      [head("build"), { role: "assistant", content: "Done." }, { role: "user", content: [ask] }],
    ],
    ["one turn of the user", [{ role: "user", content: [{ ...ask, text: LONG }, ask] }], undefined],
  ] as const;
  for (const [what, given, sent] of rows) t.strictSame(sentAgain(given), sent, what);
});
