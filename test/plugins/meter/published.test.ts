import t from "tap";
import type { Profile } from "../../../core/catalogue/profile.ts";
import { PublishedCounts } from "../../../plugins/meter/published.ts";
import { type CountedInput, countedInput } from "../../../plugins/meter/tokenize.ts";
import { makePng } from "../../../plugins/simulator/png.ts";
import { modelOf } from "../../support/plugin-desk.ts";

const upstreams = { get: () => undefined };
const counts = new PublishedCounts(upstreams as never);

const user = (content: unknown) => ({ role: "user", content });

/** A request's tokens at a model of another maker, as its profile states them, or by the defaults. */
const NOTHING = { textTokens: 0, earlierThinkingTokens: 0, images: [], pages: 0, pdfBytes: 0 };
const NO_FEATURES = { documentBytes: 0, hasTools: false, isForced: false, hasSchema: false };

t.test("a model of another maker", async (t) => {
  const profiles: Record<string, Profile> = { stating: { overhead_tokens: { tools: 100 } } };
  const upstreams = { get: (name: string) => ({ config: { profile: profiles[name] } }) };
  const tokens = (input: Partial<CountedInput>, profile: Profile = {}, upstream = "other") => {
    const route = { upstream, model: "Another-1", profile };
    const model = modelOf({ routes: [route as never] });
    return new PublishedCounts(upstreams as never).inputTokens(
      { ...NOTHING, ...NO_FEATURES, ...input },
      model,
    );
  };

  t.test("counts half of the largest prompt that was recorded for a feature", async (t) => {
    t.equal(tokens({ hasTools: true }), 640 / 2);
    t.equal(tokens({ hasTools: true, isForced: true }), 640 / 2);
    t.equal(tokens({ hasSchema: true }), 110 / 2);
    t.equal(tokens({ textTokens: 10.2 }), 11, "rounded up");
    t.equal(tokens({ earlierThinkingTokens: 50 }), 50, "keeps thinking");
    t.equal(tokens({ isForced: true }), 0, "without tools");
  });

  t.test("counts files of unknown size by averages", async (t) => {
    t.equal(tokens({ images: [undefined, undefined] }), 2 * 1_200);
    t.equal(tokens({ documentBytes: 4_000 }), 100);
    t.equal(tokens({ pages: 2, pdfBytes: 800 }), 2 * 1_560 + 100, "8 bytes a token");
    t.equal(tokens({ pages: 2, pdfBytes: 80_000 }), 2 * (1_560 + 700), "at most 700 a page");
  });

  t.test("counts what its profile states", async (t) => {
    const image = { base: 7, side: 100, tile_milli: 1_000, most: 9 };
    const overhead_tokens = { tools: 20, page: 30, image };
    t.equal(tokens({ hasTools: true }, { overhead_tokens }), 20);
    t.equal(tokens({ hasTools: true, isForced: true }, { overhead_tokens }), 20);
    t.equal(tokens({ pages: 2 }, { overhead_tokens }), 60);
    t.equal(tokens({ images: [undefined] }, { overhead_tokens }), 9);
    t.equal(tokens({ images: [{ width: 100, height: 100 }] }, { overhead_tokens }), 8);
    t.equal(tokens({ hasTools: true }, {}, "stating"), 100, "or that of its upstream");
    t.equal(tokens({ hasTools: true }, { overhead_tokens }, "stating"), 20, "its own before it");
  });

  t.test("without a route counts so too", async (t) => {
    const input = { ...NOTHING, ...NO_FEATURES, hasTools: true };
    t.equal(counts.inputTokens(input, modelOf({ routes: [] })), 320);
  });
});

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
    ["claude-opus-4-5", 496, 588],
    ["claude-haiku-4-5", 496, 588],
    ["claude-opus-4-1", 313, 315],
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

t.test(
  "an image at Claude is a token for 28 x 28 pixels, up to the most of its model",
  async (t) => {
    for (const [name, width, height, tokens] of [
      ["claude-opus-5-5", 280, 280, 100],
      ["claude-opus-5-5", 281, 280, 110],
      ["claude-opus-5-5", 3_000, 2_000, 4_784],
      ["claude-sonnet-5", 3_000, 2_000, 4_784],
      ["claude-opus-4-7", 3_000, 2_000, 4_784],
      ["claude-sonnet-4-6", 280, 280, 100],
      ["claude-sonnet-4-6", 3_000, 2_000, 1_568],
      ["claude-opus-4-1", 3_000, 2_000, 1_568],
    ] as const) {
      const without = beside(name, { messages: [user([])] });
      const counted = beside(name, { messages: [user([image(width, height)])] }) - without;
      t.equal(counted, tokens, `${name}, ${width} x ${height}`);
    }
  },
);

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
  for (const name of ["opus-4-7", "opus-4-8", "sonnet-5", "opus-5-5", "sonnet-4-6", "opus-4-5"]) {
    t.equal(beside(`claude-${name}`, body), 100, name);
  }
  for (const name of ["haiku-4-5", "sonnet-4-5", "opus-4-1"]) {
    t.equal(beside(`claude-${name}`, body), 0, name);
  }
});

t.test("tools that Claude defines count what it publishes for them", async (t) => {
  for (const [type, least, most] of [
    ["bash_20250124", 245, 245],
    ["text_editor_20250728", 700, 700],
    // With a system prompt of up to 499.
    ["computer_20251124", 735 + 1, 735 + 499],
  ] as const) {
    const without = countedInput({ messages: [user("hello")] }).textTokens;
    const body = { messages: [user("hello")], tools: [{ type, name: "n" }] };
    const counted = countedInput(body).textTokens - without;
    t.ok(counted >= least && counted <= most, `${type}: ${counted}`);
  }
});
