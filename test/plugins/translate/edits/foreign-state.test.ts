import t from "tap";
import type { Profile } from "../../../../core/catalogue/profile.ts";
import { edited } from "../../../../plugins/translate/edits/index.ts";

const called = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
const extra_content = { google: { thought_signature: "abc" } };
const bare = { role: "assistant", content: null, tool_calls: [called] };
const turn = {
  ...bare,
  tool_calls: [{ ...called, extra_content }],
  ...{ reasoning_content: "hm", reasoning: "hm", reasoning_details: [{ text: "hm" }] },
  thinking_blocks: [{ type: "thinking", thinking: "hm", signature: "EqQB" }],
  ...{ extra_content, refusal: null, annotations: [] },
};

/** The parts that a model of each maker gets of a turn that carries the state of all of them. */
const KEPT: readonly (readonly [what: string, profile: Profile, kept: object])[] = [
  ["OpenAI", { maker: "openai", replay: "none" }, bare],
  [
    "Google",
    { maker: "google", replay: "thought_signature" },
    { ...bare, tool_calls: turn.tool_calls, extra_content, refusal: null, annotations: [] },
  ],
  [
    "DeepSeek",
    { maker: "deepseek", replay: "reasoning_content" },
    { ...bare, reasoning_content: "hm", refusal: null, annotations: [] },
  ],
  [
    "MiniMax",
    { maker: "minimax", replay: "reasoning_details" },
    { ...bare, reasoning_details: turn.reasoning_details, refusal: null, annotations: [] },
  ],
  [
    "Claude behind a Chat server",
    { maker: "anthropic" },
    (({ extra_content: _, ...rest }) => ({ ...rest, tool_calls: [called] }))(turn),
  ],
  ["a server of which nothing is stated", {}, turn],
];

t.test("the state of another maker does not go upstream on the native path of Chat", async (t) => {
  const task = { role: "user", content: "go" };
  const result = { role: "tool", tool_call_id: "c", content: "ok" };
  for (const [what, profile, kept] of KEPT) {
    const made = edited({ messages: [task, turn, result] }, "chat", profile);
    if (!made.ok) return t.fail(made.reject.message);
    t.strictSame(made.body["messages"], [task, kept, result], what);
    t.strictSame(made.dropped, [], what);
  }
});

t.test("a refusal and sound of an earlier turn stay for a model that wants no state", async (t) => {
  const refused = { role: "assistant", content: null, refusal: "no" };
  const spoken = { role: "assistant", audio: { id: "a" } };
  const body = { messages: [refused, spoken] };
  const made = edited(body, "chat", { maker: "openai", replay: "none" });
  t.equal(made.ok && made.body, body);
});

t.test("encrypted reasoning of Responses goes back to its maker only", async (t) => {
  const task = { role: "user", content: "go" };
  const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "c", output: "ok" };
  const reasoning = (encrypted_content: string | null) => ({
    ...{ type: "reasoning", id: "rs_1", summary: [], encrypted_content },
  });
  const [ofOpenAi, other, plain] = [reasoning("gAAAAABo"), reasoning("q83v"), reasoning(null)];
  for (const [maker, kept] of [
    ["openai", [task, ofOpenAi, plain, call, output]],
    ["xai", [task, other, plain, call, output]],
    [undefined, [task, ofOpenAi, other, plain, call, output]],
  ] as const) {
    const input = [task, ofOpenAi, other, plain, call, output];
    const made = edited({ input }, "responses", maker ? { maker } : {});
    if (!made.ok) return t.fail(made.reject.message);
    t.strictSame(made.body["input"], kept, String(maker));
  }
});

t.test("a part that is called encrypted and has nothing is no text, for GPT", async (t) => {
  const content = [{ type: "encrypted_content", encrypted_content: null }];
  const body = { input: [{ type: "agent_message", content }] };
  const made = edited(body, "responses", { maker: "openai" });
  t.equal(made.ok && made.body, body);
});
