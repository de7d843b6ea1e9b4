import type { JsonObject } from "../../../core/process/json.ts";
import { pieces } from "../../../plugins/simulator/text.ts";
import { type Answer, argumentDeltas, textDeltas } from "./answer.ts";

/** One content block of a message: its start and its deltas. */
interface Block {
  readonly start: JsonObject;
  /** The fields of `start` that the deltas fill. */
  readonly filled: JsonObject;
  /** Returns the deltas as JSON. */
  deltas(): Iterable<string>;
}

/**
 * Returns the blocks of a message: thinking, text, refusal, tool calls, then the text after them.
 */
export function blocks(answer: Answer): Block[] {
  const { directive, thinking, text, textAfter, refusal, tools, id } = answer;
  const list: Block[] = [];
  if (thinking !== "") list.push(thinkingBlock(thinking, directive.signature ?? `sig_${id}`));
  if (directive.redacted_thinking !== undefined) {
    const start = { type: "redacted_thinking", data: directive.redacted_thinking };
    list.push({ start, filled: {}, deltas: () => [] });
  }
  if (text !== "") list.push(textBlock(text, () => textDeltas(answer)));
  if (refusal !== "") list.push(textBlock(refusal, () => pieces(refusal)));
  tools.forEach((tool, index) => {
    const start = {
      type: "tool_use",
      id: tool.id ?? `toolu_${id.slice(0, 22)}${String(index).padStart(2, "0")}`,
      name: tool.name,
      input: {},
    };
    const filled = { input: readArguments(tool.arguments) };
    list.push({ start, filled, deltas: () => argumentDeltas(answer, tool).map(inputDelta) });
  });
  if (textAfter !== "") list.push(textBlock(textAfter, () => pieces(textAfter)));
  return list;
}

function thinkingBlock(thinking: string, signature: string): Block {
  return {
    start: { type: "thinking", thinking: "", signature: "" },
    filled: { thinking, signature },
    *deltas() {
      for (const piece of pieces(thinking)) {
        yield `{"type":"thinking_delta","thinking":${JSON.stringify(piece)}}`;
      }
      yield `{"type":"signature_delta","signature":${JSON.stringify(signature)}}`;
    },
  };
}

function textBlock(text: string, parts: () => Iterable<string>): Block {
  return {
    start: { type: "text", text: "" },
    filled: { text },
    *deltas() {
      for (const piece of parts()) yield `{"type":"text_delta","text":${JSON.stringify(piece)}}`;
    },
  };
}

function inputDelta(piece: string): string {
  return `{"type":"input_json_delta","partial_json":${JSON.stringify(piece)}}`;
}

/**
 * Parses arguments. Keeps invalid JSON as a string: an unstreamed reply has no other place for it.
 */
function readArguments(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
