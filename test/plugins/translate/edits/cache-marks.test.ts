import t from "tap";
import type { Model } from "../../../../core/catalogue/catalogue.ts";
import type { Profile } from "../../../../core/catalogue/profile.ts";
import type { JsonObject } from "../../../../core/process/json.ts";
import { StateSeal } from "../../../../plugins/translate/state/seal.ts";
import { targetOf } from "../../../../plugins/translate/targets.ts";
import { translateRequest } from "../../../../plugins/translate/translate-request.ts";
import { anthropicTurns } from "../../../support/strict/anthropic-turns.ts";
import { firstBroken, objects } from "../../../support/strict/rule.ts";

const seal = StateSeal.of("secret");
const model = "claude-opus-5-5";
const user = (content: unknown) => ({ role: "user", content });
const system = { role: "system", content: "Be brief." };
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];
const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
const calling = { role: "assistant", content: null, tool_calls: [call] };
const result = { role: "tool", tool_call_id: "c1", content: "x" };
const mark = { cache_control: { type: "ephemeral" } };

function madeOf(client: "chat" | "responses", given: JsonObject, profile: Profile = {}) {
  const target = { client, to: "messages", profile, maker: "anthropic", accountId: "a" } as const;
  const made = translateRequest({ model, ...given }, target, seal);
  if (!made.ok) throw new Error(made.reject.message);
  return made.body;
}

/** Returns the places of the marks: `tools.0`, `messages.2.1`. */
function marksOf(body: JsonObject): string[] {
  const marked = (path: string, blocks: unknown) =>
    objects(blocks).flatMap((block, at) => (block["cache_control"] ? [`${path}.${at}`] : []));
  const turns = objects(body["messages"]);
  const facts = { family: "anthropic", protocol: "messages", model, body, turns } as const;
  const more = { tools: objects(body["tools"]), headers: {}, inputTokens: 1, onBedrock: false };
  t.equal(firstBroken(anthropicTurns, { ...facts, ...more }), undefined);
  return [
    ...marked("tools", body["tools"]),
    ...marked("system", body["system"]),
    ...turns.flatMap(({ content }, at) => marked(`messages.${at}`, content)),
  ];
}

t.test("conversations of clients that know no cache marks are cached", async (t) => {
  for (const [what, messages, more, marks] of [
    ["a single question", [system, user("a")], {}, []],
    ["one with tools", [system, user("a")], { tools }, ["system.0", "messages.0.0"]],
    ["one with tools alone", [user("a")], { tools }, ["tools.0", "messages.0.0"]],
    [
      "a step of an agent",
      [system, user("a"), calling, result],
      { tools },
      ["system.0", "messages.0.0", "messages.2.0"],
    ],
    [
      "a conversation without tools",
      [user("a"), { role: "assistant", content: "b" }, user("c")],
      {},
      ["messages.0.0", "messages.2.0"],
    ],
    [
      "only the last two turns of many",
      [user("a"), calling, result, calling, result],
      { tools },
      ["tools.0", "messages.2.0", "messages.4.0"],
    ],
  ] as const) {
    t.strictSame(marksOf(madeOf("chat", { messages, ...more })), marks, what);
  }
});

t.test("so are those of Responses clients, at the last block of a turn", async (t) => {
  const input = [
    { type: "message", ...user([{ type: "input_text", text: "a" }]) },
    { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
    { type: "function_call", call_id: "c2", name: "look", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "x" },
    { type: "function_call_output", call_id: "c2", output: "y" },
  ];
  const named = tools.map((tool) => ({ type: "function", ...tool.function }));
  const body = madeOf("responses", { instructions: "Be brief.", input, tools: named });
  t.strictSame(marksOf(body), ["system.0", "messages.0.0", "messages.2.1"]);
});

t.test("a client that sets marks sets them all", async (t) => {
  const messages = [user([{ type: "text", text: "a", ...mark }]), calling, result];
  t.strictSame(marksOf(madeOf("chat", { messages, tools })), ["messages.0.0"]);
});

t.test("no marks are added if they would only make calls dearer for customers", async (t) => {
  const messages = [user("a"), calling, result];
  const ONE = 1_000_000;
  const kinds = { input: ONE, output: ONE, per_call: ONE, per_image: ONE };
  const route = { upstream: "anthropic", profile: {} };
  for (const [cache_write, cached_input, isMarked] of [
    [1, 1, true],
    [1.25, 0.1, true],
    [1.25, 1, false],
  ] as const) {
    const caches = { cache_write: cache_write * ONE, cached_input: cached_input * ONE };
    const priced = { id: model, price: { factors: { ...kinds, ...caches } } } as unknown as Model;
    const target = targetOf(
      route as unknown as Model["routes"][number],
      priced,
      { upstreams: new Map() } as unknown as Parameters<typeof targetOf>[2],
      ...(["chat", "messages", "a"] as const),
    );
    const { profile } = target;
    t.equal(marksOf(madeOf("chat", { messages, tools }, profile)).length > 0, isMarked);
  }
});
