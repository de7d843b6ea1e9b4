import t from "tap";
import type { Profile } from "../../../../core/catalogue/profile.ts";
import type { JsonObject } from "../../../../core/process/json.ts";
import { edited } from "../../../../plugins/translate/edits/index.ts";
import { StateSeal } from "../../../../plugins/translate/state/seal.ts";

const HAIKU: Profile = { maker: "anthropic", thinking: "budget" };

const foreign = {
  type: "thinking",
  thinking: "hm",
  signature: StateSeal.of("secret").pack("deepseek", "", "hm"),
};
const own = { type: "thinking", thinking: "hm", signature: "EqQB" };
const use = { type: "tool_use", id: "t", name: "f", input: {} };
const result = {
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "t", content: "ok" }],
};
const budget = { type: "enabled", budget_tokens: 2048 };
const clearing = { edits: [{ type: "clear_thinking_20251015", keep: "all" }] };

function step(content: readonly object[], more: object): JsonObject {
  const messages = [{ role: "user", content: "go" }, { role: "assistant", content }, result];
  return { max_tokens: 8000, messages, ...more };
}

t.test("thinking is dropped in a step that did not begin with thinking of its maker", async (t) => {
  for (const [what, content, more, profile, dropped] of [
    ["adaptive, another maker's", [foreign, use], { thinking: { type: "adaptive" } }, HAIKU, true],
    ["a budget, another maker's", [foreign, use], { thinking: budget }, HAIKU, true],
    ["a budget, none", [{ type: "text", text: "a" }, use], { thinking: budget }, HAIKU, true],
    ["a budget, no profile", [use], { thinking: budget }, {}, true],
    ["a budget, its own", [own, use], { thinking: budget }, HAIKU, false],
    [
      "a budget, hidden",
      [{ type: "redacted_thinking", data: "a" }, use],
      { thinking: budget },
      HAIKU,
      false,
    ],
    ["adaptive, its own", [own, use], { thinking: { type: "adaptive" } }, HAIKU, false],
    ["adaptive, taken", [use], { thinking: { type: "adaptive" } }, { thinking: "adaptive" }, false],
  ] as const) {
    const body = step(content, more);
    const made = edited(body, "messages", profile);
    if (!made.ok) return t.fail(made.reject.message);
    t.equal(made.body["thinking"] === undefined, dropped, what);
    t.strictSame(made.dropped, dropped ? ["thinking"] : [], what);
  }
});

t.test(
  "thinking stays in a step that began with its own, which Claude does only once",
  async (t) => {
    const next = { ...use, id: "t2" };
    const answer = [{ type: "tool_result", tool_use_id: "t2", content: "ok" }];
    const reminded = [...answer, { type: "text", text: "by the way" }];
    for (const more of [answer, reminded]) {
      const messages = [
        { role: "user", content: "go" },
        { role: "assistant", content: [own, use] },
        result,
        { role: "assistant", content: [next] },
        { role: "user", content: more },
      ];
      const body = { max_tokens: 8000, messages, thinking: budget };
      for (const profile of [HAIKU, {}]) {
        const made = edited(body, "messages", profile);
        t.equal(made.ok && made.body, body);
      }
    }
  },
);

t.test(
  "words of the user beside a result begin no step, even in a turn of their own",
  async (t) => {
    const words = { role: "user", content: "by the way" };
    const used = { role: "assistant", content: [use] };
    const thought = { role: "assistant", content: [own, use] };
    for (const [what, turns, dropped] of [
      ["behind the result", [used, result, words], true],
      ["behind a result of thinking", [thought, result, words], false],
      ["before a later call", [thought, result, words, used, result], false],
    ] as const) {
      const messages = [{ role: "user", content: "go" }, ...turns];
      const made = edited({ max_tokens: 8000, messages, thinking: budget }, "messages", HAIKU);
      if (!made.ok) return t.fail(made.reject.message);
      t.equal(made.body["thinking"] === undefined, dropped, what);
    }
  },
);

t.test("thinking of the running step goes with the thinking that is off", async (t) => {
  const earlier = [
    { role: "user", content: "before" },
    { role: "assistant", content: [own, { type: "text", text: "a" }] },
  ];
  const forced = { tool_choice: { type: "any" }, tools: [{ name: "f" }] };
  const none: Profile = { maker: "anthropic", thinking: "none" };
  const old: Profile = { maker: "anthropic" };
  for (const [what, more, profile] of [
    ["a forced call", { thinking: budget, ...forced }, HAIKU],
    ["a forced call without a wish", forced, HAIKU],
    ["no room for a budget", { thinking: { type: "adaptive" }, max_tokens: 1000 }, HAIKU],
    ["a model that does not think", { thinking: budget }, none],
    ["no wish", {}, HAIKU],
    ["no wish, a model that does not think", {}, none],
    ["thinking off", { thinking: { type: "disabled" } }, HAIKU],
    ["thinking off, a model of efforts", { thinking: { type: "disabled" } }, old],
  ] as const) {
    const body = step([own, { type: "redacted_thinking", data: "a" }, use], more);
    const messages = [...earlier, ...(Array.isArray(body["messages"]) ? body["messages"] : [])];
    const made = edited({ ...body, messages }, "messages", profile);
    if (!made.ok) return t.fail(made.reject.message);
    const sent = made.body["messages"];
    t.strictSame(
      sent,
      [...earlier, messages[2], { role: "assistant", content: [use] }, result],
      what,
    );
  }
});

t.test("edits of earlier thinking go with the thinking that is dropped", async (t) => {
  const other = { type: "clear_tool_uses_20250919" };
  const both = { edits: [...clearing.edits, other] };
  for (const [given, kept] of [
    [clearing, undefined],
    [both, { edits: [other] }],
  ] as const) {
    const body = step([use], { thinking: budget, context_management: given });
    const made = edited(body, "messages", HAIKU);
    if (!made.ok) return t.fail(made.reject.message);
    t.strictSame(made.body["context_management"], kept);
  }
  const body = step([own, use], { thinking: budget, context_management: clearing });
  const made = edited(body, "messages", HAIKU);
  t.equal(made.ok && made.body, body, "a body that needs no edit stays as it is");
});

t.test("texts of white space go out of turns of the assistant", async (t) => {
  const blank = { type: "text", text: "\n\n" };
  const asked = { role: "user", content: [blank] };
  const text = { type: "text", text: "a" };
  const said = (...content: object[]) => ({ role: "assistant", content });
  const messages = [asked, said(own, blank, use), result, said(blank), asked, said(text, blank)];
  const made = edited({ messages, thinking: budget }, "messages", HAIKU);
  if (!made.ok) return t.fail(made.reject.message);
  t.strictSame(made.body["messages"], [asked, said(own, use), result, asked, said(text)]);
  t.strictSame(made.dropped, []);
});

t.test("a turn that the provider has paused is no prefill", async (t) => {
  const question = { role: "user", content: "search" };
  const search = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
  const found = { type: "web_search_tool_result", tool_use_id: "s", content: [] };
  for (const [content, ok] of [
    [[search], true],
    [[search, found, { type: "text", text: "So far" }], true],
    [[{ type: "compaction", content: "summary" }], true],
    [[{ type: "text", text: "So far" }], false],
    ["So far", false],
  ] as const) {
    const body = { max_tokens: 100, messages: [question, { role: "assistant", content }] };
    t.equal(edited(body, "messages", { prefill: false }).ok, ok, JSON.stringify(content));
  }
});
