import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import type { JsonObject } from "../../../core/process/json.ts";
import { StateSeal } from "../../../plugins/translate/state/seal.ts";
import { translateRequest } from "../../../plugins/translate/translate-request.ts";
import { chatRequest, messagesRequest } from "./conversations.ts";

const seal = StateSeal.of("a secret");

for (const [client, to, requests] of [
  ["chat", "messages", chatRequest],
  ["chat", "responses", chatRequest],
  ["messages", "chat", messagesRequest],
  ["messages", "responses", messagesRequest],
] as const) {
  t.test(`${client} to ${to}: what a reply must know of its request is plain data`, async () => {
    fc.assert(
      fc.property(requests, (body) => void check(body, client, to)),
      { numRuns: 100 },
    );
  });
}

t.test("responses to chat: what a reply must know of its request is plain data", async () => {
  const tools = [{ type: "namespace", name: "files", tools: [{ type: "custom", name: "read" }] }];
  assert.ok(check({ model: "m", input: "Hello", tools }, "responses", "chat"));
});

function check(body: JsonObject, client: "chat" | "messages" | "responses", to: typeof client) {
  const made = translateRequest(
    body,
    { client, to, profile: {}, maker: "openai", accountId: "a" },
    seal,
  );
  if (!made.ok) return false;
  assert.deepStrictEqual(structuredClone(made.context), made.context);
  return true;
}
