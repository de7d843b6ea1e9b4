import t from "tap";
import type { Profile } from "../../../core/contract/profile.ts";
import { PublishedCounts } from "../../../plugins/meter/published.ts";
import { countedInput } from "../../../plugins/meter/tokenize.ts";
import { makePng } from "../../../plugins/simulator/png.ts";
import { modelOf } from "../../support/plugin-desk.ts";

const upstreams = { get: () => undefined };
const counts = new PublishedCounts(upstreams as never);

const user = (content: unknown) => ({ role: "user", content });

/** The tokens of a request at a model of this name, beyond those of its text. */
function beside(name: string, body: object, profile?: Profile): number {
  const model = modelOf({ routes: [{ upstream: "u", model: name, profile } as never] });
  const input = countedInput({ messages: [user("hello")], ...body });
  return counts.inputTokens(input, model) - Math.ceil(input.textTokens);
}

const tools = [{ name: "look", input_schema: { type: "object" } }];

t.test("tools count the prompt that Claude publishes for them, by model and choice", async (t) => {
  for (const [name, auto, forced] of [
    ["claude-opus-5-5", 286, 406],
    ["anthropic.claude-opus-4-8", 290, 410],
    ["claude-opus-4-7", 675, 804],
    ["claude-sonnet-5", 354, 474],
    ["claude-sonnet-4-6", 497, 589],
    ["claude-haiku-4-5", 496, 588],
  ] as const) {
    t.equal(beside(name, { tools }), auto, name);
    t.equal(beside(name, { tools, tool_choice: { type: "any" } }), forced, `${name}, any`);
    t.equal(beside(name, { tools, tool_choice: { type: "none" } }), auto, `${name}, none`);
    t.equal(beside(name, { tools: [] }), 0, `${name}, no tools`);
  }
  const stated = beside("claude-opus-5-5", { tools }, { overhead_tokens: { tools: 100 } });
  t.equal(stated, 100, "a profile counts over it");
});

function image(width: number, height: number): object {
  const data = makePng(width, height, 0).toString("base64");
  return { type: "image", source: { type: "base64", media_type: "image/png", data } };
}

t.test("an image counts within 15 % of the published number of its size", async (t) => {
  for (const [name, width, height, tokens] of [
    // platform.claude.com, vision: (width x height) / 750, and the largest of each kind of model.
    ["claude-opus-5-5", 1_000, 1_000, 1_334],
    ["claude-sonnet-4-6", 1_000, 1_000, 1_334],
    ["claude-sonnet-4-6", 1_092, 1_092, 1_590],
    ["claude-sonnet-4-6", 3_000, 2_000, 1_568],
    ["claude-opus-5-5", 3_000, 2_000, 4_784],
    // developers.openai.com: 85 + 170 for each of four tiles.
    ["gpt-4.1", 1_024, 1_024, 765],
    // ai.google.dev: 258 for each tile, 1,120 in 3.x.
    ["gemini-3.5-flash", 1_000, 1_000, 1_120],
  ] as const) {
    const counted = beside(name, { messages: [user([image(width, height)])] });
    t.ok(Math.abs(counted / tokens - 1) < 0.15, `${name}, ${width} x ${height}: ${counted}`);
  }
});

t.test("a page of a PDF counts 1,500 to 3,000, as Claude publishes it", async (t) => {
  const page = (n: number) => `${n} 0 obj << /Type /Page /Parent 1 0 R >> endobj\n`;
  for (const pages of [1, 3, 40]) {
    for (const kilobytes of [0, 1, 200]) {
      const filler = `stream ${"x".repeat(kilobytes * 1_024)} endstream\n`.repeat(pages);
      const objects = Array.from({ length: pages }, (_, at) => page(at + 2)).join("");
      const data = Buffer.from(`%PDF-1.4\n${objects}${filler}`).toString("base64");
      const source = { type: "base64", media_type: "application/pdf", data };
      const body = { messages: [user([{ type: "document", source }])] };
      const each = beside("claude-opus-5-5", body) / pages;
      t.ok(each >= 1_500 && each <= 3_000, `${pages} pages, ${kilobytes} KB each: ${each}`);
      const gemini = beside("gemini-2.5-pro", body) / pages;
      t.ok(Math.abs(gemini / 258 - 1) < 0.15, `Gemini: ${gemini}`);
    }
  }
  const source = { type: "url", url: "https://files.example.com/a.pdf" };
  const linked = beside("claude-opus-5-5", { messages: [user([{ type: "document", source }])] });
  t.ok(linked >= 1_500 && linked <= 3_000, "an address is a page");
});

t.test("thinking of earlier turns counts only at models that keep it", async (t) => {
  const thought = { type: "thinking", thinking: "", signature: "x".repeat(600) };
  const said = { role: "assistant", content: [thought, { type: "text", text: "a" }] };
  const body = { messages: [user("hello"), said, user("again")] };
  t.equal(beside("claude-opus-5-5", body), 100);
  t.equal(beside("claude-haiku-4-5", body), 0);
});

t.test("tools that Claude defines count what it publishes for them", async (t) => {
  for (const [type, tokens] of [
    ["bash_20250124", 245],
    ["text_editor_20250728", 700],
    ["computer_20251124", 735],
  ] as const) {
    const without = countedInput({ messages: [user("hello")] }).textTokens;
    const body = { messages: [user("hello")], tools: [{ type, name: "n" }] };
    const counted = countedInput(body).textTokens - without;
    t.ok(counted >= tokens && counted <= tokens + 499, `${type}: ${counted}`);
  }
});
