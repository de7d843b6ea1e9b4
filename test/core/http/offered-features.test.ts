import assert from "node:assert/strict";
import t from "tap";
import { readJson } from "../../../core/body/request-body.ts";
import { offeredFeatures } from "../../../core/http/offered-features.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { isLinear } from "../../support/growth.ts";
import { deskOf, modelOf, preparedCall } from "../../support/plugin-desk.ts";

t.test("a call that asks for what its model lacks is refused", async (t) => {
  const image = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "AAAA" },
  };
  const messages = [{ role: "user", content: [image] }];
  for (const [param, labels, changes] of [
    ["stream", [], { stream: true }],
    [undefined, ["streaming"], { stream: true }],
    ["messages", [], { body: { model: "plain", messages } }],
    [undefined, ["vision"], {}],
  ] as const) {
    const call = preparedCall({ ...changes, model: modelOf({ labels: new Set(labels) }) });
    const verdict = offeredFeatures(deskOf().services).request?.(call);
    t.match(verdict ?? {}, param === undefined ? {} : { status: 400, param });
    t.equal(verdict === undefined, param === undefined, `${param} ${labels}`);
  }
});

const MESSAGES = [{ role: "user", content: "x" }];
const many = (count: number, make: (at: number) => object) =>
  Array.from({ length: count }, (_, at) => make(at));
const manyFields = (count: number): JsonObject =>
  Object.assign({}, ...many(count, (at) => ({ [`a${at}`]: 1 })));

t.test("thousands of parts that are left out take no more time than they are", async (t) => {
  const search = { type: "web_search" };
  const block = { type: "tool_addition", tool: { name: "f" } };
  const turn = { role: "system", content: [block] };
  const ofMessages: Record<string, (count: number) => JsonObject> = {
    fields: (count) => ({ ...manyFields(Math.ceil(count / 8)), messages: MESSAGES }),
    "fields of a turn": (count) => ({ messages: [{ ...MESSAGES[0], ...manyFields(count) }] }),
    turns: (count) => ({ messages: [...many(count, () => turn), ...MESSAGES] }),
    blocks: (count) => ({
      messages: [{ role: "system", content: many(count, () => block) }, ...MESSAGES],
    }),
  };
  const ofResponses: typeof ofMessages = {
    references: (count) => ({ input: many(count, (at) => ({ id: `rs_${at}` })) }),
    tools: (count) => ({ tools: many(count, () => search) }),
    "tools of a tool": (count) => ({
      tools: [{ type: "namespace", name: "n", tools: many(count, () => search) }],
    }),
    "allowed tools": (count) => ({
      tools: many(count, () => search),
      tool_choice: { type: "allowed_tools", tools: many(count, () => ({ type: "function" })) },
    }),
  };
  const { request } = offeredFeatures(deskOf().services);
  for (const [path, bodies] of [
    ["/v1/messages", ofMessages],
    ["/v1/responses", ofResponses],
  ] as const) {
    for (const [what, make] of Object.entries(bodies)) {
      const prepare = (count: number) => {
        const call = preparedCall({ headers: { "anthropic-beta": "x" } }, path);
        const fields = { model: "sim-large", input: "x", ...make(count) };
        const body = readJson(Buffer.from(JSON.stringify(fields)));
        assert.ok(!isRefusal(body));
        call.body = body;
        return () => void request?.(call);
      };
      t.ok(isLinear(7_200, prepare), what);
    }
  }
});
