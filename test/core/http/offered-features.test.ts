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

t.test("images too large for one reply are refused by the field to change", async (t) => {
  const verdict = (fields: JsonObject, replyMb: number) => {
    const limits = { replyBytesMax: replyMb * 1_048_576 };
    const config = { ...deskOf().services.config, limits };
    const call = preparedCall({ body: { model: "m", ...fields } }, "/v1/images/generations");
    const refused = offeredFeatures(deskOf({ config }).services).request?.(call);
    return refused && isRefusal(refused) ? [refused.param, refused.message] : refused;
  };
  const size = "1024x1536";
  const start = "images of this size may be too large for one reply; ask for";
  for (const [fields, replyMb, refused] of [
    [{ size, n: 2 }, 12, undefined],
    [{ size, n: 3 }, 12, ["n", `n: ${start} at most 2 at a time, or set output_format to jpeg`]],
    [{ size }, 5, ["size", `size: ${start} a smaller one, or set output_format to jpeg`]],
    [{}, 5, ["size", `size: ${start} a smaller one, or set output_format to jpeg`]],
    [
      { size, n: 2, background: "transparent" },
      12,
      ["n", `n: ${start} at most 1 at a time, or set output_format to webp`],
    ],
    [{ size, n: 2, background: "transparent", output_format: "webp" }, 12, undefined],
    [{ size, n: 5, output_format: "jpeg" }, 12, ["n", `n: ${start} at most 4 at a time`]],
  ] as const) {
    t.strictSame(verdict(fields, replyMb), refused, JSON.stringify(fields));
  }
});
