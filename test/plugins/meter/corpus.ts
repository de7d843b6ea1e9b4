import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { arrayOf, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { Random } from "../../support/random.ts";
import { CONVERSATIONS } from "./conversations.ts";

/**
 * How providers count, in comparison with the tokenizer of OpenAI: tokens of a text in percent of
 * o200k, by its kind, and tokens that they add to a request, to one with tools, and to each turn.
 * From a page of text and a table that were sent to each (huggingface.co: pdf-token-cost), the
 * documentation of Claude (30 % more since Opus 4.7), and the shortages of recorded requests.
 */
interface Provider {
  readonly model: string;
  readonly prose: number;
  readonly data: number;
  readonly request: number;
  readonly tools: number;
  readonly turn: number;
}

const PROVIDERS: readonly Provider[] = [
  { model: "claude-opus-5-5", prose: 158, data: 145, request: 8, tools: 400, turn: 4 },
  { model: "claude-sonnet-5", prose: 145, data: 140, request: 8, tools: 460, turn: 4 },
  { model: "claude-haiku-4-5", prose: 109, data: 114, request: 8, tools: 570, turn: 4 },
  { model: "gpt-4.1", prose: 100, data: 100, request: 3, tools: 12, turn: 4 },
  { model: "gpt-5.6-sol", prose: 100, data: 100, request: 3, tools: 30, turn: 4 },
  { model: "gemini-3.5-flash", prose: 99, data: 124, request: 1, tools: 20, turn: 2 },
  { model: "grok-4.3", prose: 104, data: 108, request: 175, tools: 30, turn: 4 },
  { model: "deepseek-v4-flash", prose: 104, data: 108, request: 50, tools: 190, turn: 3 },
  { model: "qwen3-coder-plus", prose: 104, data: 110, request: 10, tools: 180, turn: 5 },
  { model: "kimi-k2.6", prose: 102, data: 108, request: 12, tools: 60, turn: 4 },
  { model: "glm-5.2", prose: 103, data: 108, request: 10, tools: 130, turn: 3 },
  { model: "MiniMax-M3", prose: 104, data: 110, request: 30, tools: 160, turn: 4 },
];

/** A request, and the input that its provider counts. */
export interface Counted {
  readonly model: string;
  readonly body: JsonObject;
  readonly reported: number;
}

const NAMES = ["order", "user", "ticket", "invoice", "branch", "weather", "station", "shipment"];

const contentOf = (name: string): string => {
  const [first] = arrayOf(CONVERSATIONS[name]?.["messages"]);
  return String(objectOf(first)?.["content"]);
};

const PROSE = [contentOf("English prose"), contentOf("Vietnamese prose")];
const CODE = contentOf("code");

/** Makes requests as clients send them: questions, histories, files, and tools with their results. */
export function corpus(count: number, seed: number): Counted[] {
  const random = new Random(seed);
  const pick = <T>(list: readonly T[]) => list[random.below(list.length)] as T;
  const part = (text: string, most: number) => {
    const length = Math.min(text.length, 20 + random.below(most));
    const from = random.below(text.length - length + 1);
    return text.slice(from, from + length);
  };
  const row = () => ({ id: random.below(9_999), name: pick(NAMES), price: random.below(900) / 4 });
  const rows = () => JSON.stringify(Array.from({ length: 1 + random.below(30) }, row));
  const tool = () => {
    const fields = Array.from({ length: 1 + random.below(5) }, () => pick(NAMES));
    const described = fields.map((name) => [
      name,
      { type: "string", description: part(PROSE[0] ?? "", 60) },
    ]);
    const schema = { type: "object", properties: Object.fromEntries(described), required: fields };
    return { name: `get_${pick(NAMES)}`, description: part(PROSE[0] ?? "", 200), schema };
  };

  return Array.from({ length: count }, (): Counted => {
    const provider = pick(PROVIDERS);
    const { model } = provider;
    const tools = random.below(2) === 0 ? [] : Array.from({ length: 1 + random.below(12) }, tool);
    const turns = Array.from({ length: 1 + 2 * random.below(6) }, (_, at) => {
      const isData = tools.length > 0 ? at % 3 === 2 : random.below(4) === 0;
      const text = isData ? pick([rows(), part(CODE, 3_000)]) : part(pick(PROSE), 1_500);
      return { role: at % 2 === 0 ? "user" : "assistant", isData, text };
    });
    const system = part(PROSE[0] ?? "", 900);
    let counted = (o200k(system) * provider.prose) / 100;
    for (const { isData, text } of turns) {
      counted += provider.turn + (o200k(text) * (isData ? provider.data : provider.prose)) / 100;
    }
    if (tools.length > 0) {
      counted += provider.tools + (o200k(JSON.stringify(tools)) * provider.data) / 100;
    }
    const body = {
      model,
      system,
      messages: turns.map(({ role, text }) => ({ role, content: text })),
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, schema }) =>
          model.startsWith("claude")
            ? { name, description, input_schema: schema }
            : { type: "function", function: { name, description, parameters: schema } },
        ),
      }),
    };
    return { model, body, reported: Math.ceil(counted + provider.request) };
  });
}
