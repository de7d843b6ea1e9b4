import assert from "node:assert/strict";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import t from "tap";
import { arrayOf, type JsonObject, objectOf } from "../../../core/process/json.ts";
import { contentsOf, type Factors, tokensOf } from "../../../plugins/meter/bound.ts";
import { familyOverhead } from "../../../plugins/meter/families.ts";
import { countedInput } from "../../../plugins/meter/tokenize.ts";
import { messagesToChatRequest } from "../../../plugins/translate/chat/write/request.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import { CONVERSATIONS } from "./conversations.ts";

/** The plugin's defaults: cautious for holds, average for estimates. */
const HOLD: Factors = {
  isBound: true,
  asciiBytesPerToken: 3,
  otherBytesPerToken: 1.5,
  imageTokens: 2500,
  documentBytesPerToken: 25,
  densityShare: 1,
  overheadShare: 0,
};
const ESTIMATE: Factors = {
  isBound: false,
  asciiBytesPerToken: 4.2,
  otherBytesPerToken: 2.4,
  imageTokens: 1200,
  documentBytesPerToken: 40,
  densityShare: 0.4,
  overheadShare: 0,
};

/** Of a model whose text counts as the tokenizers here count it. */
const OVERHEAD = familyOverhead("gpt-4o");

/** A conversation as a model receives it: each turn between markers, tools and calls as JSON. */
function rendered(request: JsonObject): string {
  const turns: string[] = [];
  const turn = (role: string, content: string) =>
    turns.push(`<|im_start|>${role}<|im_sep|>${content}<|im_end|>`);
  const system = [request["system"], ...arrayOf(request["tools"]).map((tool) => asText(tool))];
  const head = system.filter((part) => part !== undefined).join("\n\n");
  if (head !== "") turn("system", head);
  for (const message of arrayOf(request["messages"])) {
    const { role, content } = objectOf(message) ?? {};
    const parts = typeof content === "string" ? [content] : arrayOf(content).map(blockText);
    turn(String(role), parts.join("\n"));
  }
  return `${turns.join("")}<|im_start|>assistant<|im_sep|>`;
}

function blockText(block: unknown): string {
  const { type, text, name, input, content } = objectOf(block) ?? {};
  if (type === "tool_use") return `${String(name)} ${asText(input)}`;
  return typeof text === "string" ? text : asText(content);
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Markers count as one token each, as they do for a model. */
function countBy(count: (text: string) => number, text: string): number {
  const pieces = text.split(/<\|im_\w+\|>/);
  return pieces.reduce((sum, piece) => sum + count(piece), pieces.length - 1);
}

interface Ratios {
  readonly name: string;
  readonly exact: number;
  readonly other: number;
  readonly counted: number;
  readonly bound: number;
  readonly estimate: number;
}

const table = Object.entries(CONVERSATIONS).map(([name, request]): Ratios => {
  const text = rendered(request);
  const contents = contentsOf(request);
  return {
    name,
    exact: countBy(o200k, text),
    other: countBy(cl100k, text),
    counted: countedInput(request).textTokens,
    bound: tokensOf(contents, HOLD, OVERHEAD),
    estimate: tokensOf(contents, ESTIMATE, OVERHEAD),
  };
});

t.test("token counts here, compared with a tokenizer over the rendered conversation", async (t) => {
  t.test("are printed as a table, for the README", async (t) => {
    const column = (value: number) => value.toFixed(2).padStart(8);
    const head = ["o200k", "cl100k", "count/o200k", "count/cl100k", "bound", "estimate"].join("  ");
    console.log(`${"".padEnd(20)} ${head}`);
    t.test("hold at most 1.6 times the tokens of English prose", async (t) => {
      const prose = table.find(({ name }) => name === "English prose");
      t.ok(prose && prose.bound <= 1.6 * prose.exact);
    });

    for (const { name, exact, other, counted, bound, estimate } of table) {
      const counts = `${String(exact).padStart(6)} ${String(other).padStart(6)}`;
      const ratios = [counted / exact, counted / other, bound / exact, estimate / exact];
      console.log(`${name.padEnd(20)} ${counts} ${ratios.map(column).join(" ")}`);
    }
  });

  for (const { name, exact, other, counted, bound, estimate } of table) {
    t.test(`${name}: count_tokens is within 10 % of its own tokenizer`, async (t) => {
      t.ok(Math.abs(counted - exact) <= exact * 0.1, `${counted} for ${exact}`);
    });

    t.test(
      `${name}: a hold covers the count of both tokenizers, and is at most 2.5 times that`,
      async (t) => {
        t.ok(bound >= Math.max(exact, other), `${bound} for ${exact} and ${other}`);
        t.ok(bound <= 2.5 * Math.min(exact, other), `${bound} for ${exact} and ${other}`);
      },
    );

    t.test(`${name}: an estimate without reported usage is within 40 %`, async (t) => {
      const [low, high] = [0.6 * Math.min(exact, other), 1.4 * Math.max(exact, other)];
      t.ok(estimate >= low && estimate <= high, `${estimate} for ${exact} and ${other}`);
    });

    t.test(
      `${name}: a hold also covers the translated request, and is not much larger`,
      async (t) => {
        const request = { model: "m", max_tokens: 9, ...CONVERSATIONS[name] };
        const made = messagesToChatRequest(request, chatProfile({}));
        assert.ok(made.ok);
        const contents = contentsOf({ ...made.body });
        t.ok(contents);
        const translated = tokensOf(contents, HOLD, OVERHEAD);
        t.ok(translated >= exact && translated <= 1.25 * bound, `${translated} for ${bound}`);
      },
    );
  }
});
