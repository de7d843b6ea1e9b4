import t from "tap";
import type { JsonObject } from "../../../core/process/json.ts";
import { type Bench, post, startBench } from "../provider/sim.ts";
import { alibaba } from "./alibaba.ts";
import { amazon } from "./amazon.ts";
import { anthropic } from "./anthropic.ts";
import { deepseek } from "./deepseek.ts";
import { familyOf } from "./family.ts";
import { google } from "./google.ts";
import { minimax } from "./minimax.ts";
import { mistral } from "./mistral.ts";
import { moonshot } from "./moonshot.ts";
import { openai } from "./openai.ts";
import { imageRules } from "./openai-images.ts";
import { responsesRules } from "./responses-rules.ts";
import { type Facts, firstBroken, objects, type Rule } from "./rule.ts";
import {
  chatCases,
  imageCases,
  messagesCases,
  responsesCases,
  type StrictCase,
} from "./strict-cases.ts";
import { xai, xaiChat, xaiResponses } from "./xai.ts";
import { zai } from "./zai.ts";

const PLAIN: Readonly<Record<Facts["protocol"], JsonObject>> = {
  messages: { max_tokens: 100, messages: [{ role: "user", content: "a" }] },
  chat: { messages: [{ role: "user", content: "a" }] },
  responses: { input: [{ role: "user", content: "a" }] },
  images: { prompt: "a" },
};
const PATHS = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  images: "/v1/images/generations",
} as const;

const TABLES: readonly (readonly [Facts["protocol"], readonly StrictCase[], readonly Rule[]])[] = [
  ["messages", messagesCases, anthropic],
  [
    "chat",
    chatCases,
    [
      ...[...openai, ...google, ...xai, ...xaiChat, ...deepseek, ...moonshot, ...zai],
      ...[...alibaba, ...minimax, ...mistral, ...amazon],
    ],
  ],
  ["responses", responsesCases, [...responsesRules, ...xaiResponses]],
  ["images", imageCases, imageRules],
];

let bench: Bench;

t.before(async () => {
  bench = await startBench();
});
t.teardown(() => bench.simulator.close());

t.test("refuses what the provider refuses, and only that", async (t) => {
  for (const [protocol, cases, rules] of TABLES) {
    for (const [id, model, change, headers] of cases) {
      const rule = rules.find((candidate) => candidate.id === id);
      const facts = factsOf(protocol, model, { ...PLAIN[protocol], ...change }, headers);
      const said = rule && firstBroken([rule], facts)?.message;
      t.type(said, "string", `${id} on ${model}`);
      const plain = factsOf(protocol, model, PLAIN[protocol]);
      t.equal(rule && firstBroken([rule], plain), undefined, `${id} on a plain request`);
    }
  }
});

t.test("has a case for each rule, but those on a conversation", async (t) => {
  for (const [, cases, rules] of TABLES) {
    const known = new Set([...cases.map(([id]) => id), "a-signature-prefix"]);
    const without = rules.filter(({ id }) => !known.has(id)).map(({ id }) => id);
    t.strictSame(without, []);
  }
});

t.test("refuses in the shape of each provider's errors", async (t) => {
  const errors: readonly (readonly [string, RegExp])[] = [
    ["claude-opus-5-5", /^\{"type":"error","error":\{"type":"invalid_request_error"/],
    ["gpt-5.6-sol", /^\{"error":\{"message":"Unsupported.*"code":"unsupported_value"\}\}$/],
    ["gemini-3.5-flash", /^\[\{"error":\{"code":400,.*"status":"INVALID_ARGUMENT"\}\}\]$/],
    ["grok-4.5", /^\{"code":"[^"]+","error":"[^"]+"\}$/],
    ["glm-5.2", /^\{"error":\{"code":"1210","message":"[^"]+"\}\}$/],
    ["MiniMax-M3", /"message":"invalid params, .* \(2013\)"/],
  ];
  const changes = { temperature: 3, store: false, stop: ["a"] };
  for (const [model, shape] of errors) {
    const protocol = model.startsWith("claude") ? "messages" : "chat";
    const body = { model, ...PLAIN[protocol], ...changes };
    const { store, stop, ...claude } = body;
    const sent = protocol === "messages" ? claude : body;
    const response = await post(bench, PATHS[protocol], JSON.stringify(sent));
    t.equal(response.status, 400, model);
    t.match(await response.text(), shape);
  }
});

t.test("has no rules for a model that no provider has", async (t) => {
  const body = { model: "m", ...PLAIN.chat, top_k: 3, temperature: 9 };
  t.equal((await post(bench, PATHS.chat, JSON.stringify(body))).status, 200);
});

function factsOf(
  protocol: Facts["protocol"],
  name: string,
  body: JsonObject,
  headers: Facts["headers"] = {},
): Facts {
  const turns = objects(protocol === "responses" ? body["input"] : body["messages"]);
  const read = body["input"] ?? body["messages"] ?? body["prompt"];
  const inputTokens = Math.ceil(JSON.stringify(read).length / 4);
  const tools = objects(body["tools"]);
  const found = familyOf(name);
  if (!found) throw new Error(`${name} has no rules`);
  return { ...found, protocol, body, turns, tools, headers, inputTokens };
}
