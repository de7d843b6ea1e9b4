import { hash } from "node:crypto";
import { countTokens, cutToTokens, pieces } from "../../../plugins/simulator/text.ts";
import type { Ask } from "./ask.ts";
import type { Directive } from "./directive.ts";
import { outputText } from "./output-text.ts";
import { fillerBlocks } from "./text.ts";

export interface ToolCall {
  readonly name: string;
  /** The id from the directive. Undefined if the protocol makes one. */
  readonly id: string | undefined;
  readonly arguments: string;
  readonly namespace: string | undefined;
  /** True for a tool that takes text (Responses). */
  readonly custom: boolean;
}

/** Token counts. Input includes cache and images, output includes reasoning. */
export interface Usage {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly image: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Why the output ended. Each protocol has its own name for it. */
export type Ending = "stop" | "length" | "tools" | "refusal" | "stop_sequence";

/** A reply of the simulated model, independent of the protocol. */
export interface Answer {
  readonly ask: Ask;
  readonly directive: Directive;
  /** 24 hex digits, the same for equal requests. */
  readonly id: string;
  readonly thinking: string;
  readonly text: string;
  readonly tools: readonly ToolCall[];
  readonly textAfter: string;
  readonly refusal: string;
  readonly ending: Ending;
  readonly stopSequence: string | null;
  readonly usage: Usage;
}

/** Creation time of every reply, in seconds. Constant, so that equal requests get equal bytes. */
export const createdAt = 1_750_000_000;

const tokensPerImageMade = 1_000;

/** Facts about a request beside its fields. */
interface RequestContext {
  readonly bytes: Uint8Array;
  /** Up to 24 hex digits that make the ids of equal requests differ, empty by default. */
  readonly salt: string;
  /** The request as JSON if the directive asks for an echo. */
  readonly echo: string | undefined;
}

/** Makes the reply that the directive asks for. */
export function makeAnswer(ask: Ask, directive: Directive, context: RequestContext): Answer {
  const id = hash("sha256", context.bytes, "hex").slice(0, 24 - context.salt.length) + context.salt;
  const most = directive.ignore_max_tokens === true ? undefined : ask.maxTokens;
  const isFree = directive.ignore_max_tokens === "thinking";
  const thinking = cutToTokens(directive.thinking ?? "", isFree ? undefined : most);
  const thought = directive.reasoning_tokens ?? countTokens(thinking);
  const limit = most !== undefined && isFree ? most + thought : most;
  const said = outputText(ask, directive, {
    echo: context.echo,
    seed: Number.parseInt(id.slice(0, 8), 16),
    thought,
    room: limit === undefined ? undefined : Math.max(0, limit - thought),
  });
  const tools = (directive.tools ?? []).map(asToolCall);
  const wanted = directive.output_tokens ?? thought + said.tokens + countExtras(directive, tools);
  const output = limit === undefined || said.unlimited ? wanted : Math.min(wanted, limit);
  // An answer that is cut at its limit has thought no more than that.
  const reported = output < wanted ? undefined : directive.reasoning_tokens;
  return {
    ask,
    directive,
    id,
    thinking,
    text: said.text,
    tools,
    textAfter: directive.text_after ?? "",
    refusal: directive.refusal ?? "",
    ending: ending(directive, tools, said.stop !== undefined, said.cut || output < wanted),
    stopSequence: directive.stop_sequence ?? said.stop ?? null,
    usage: usageOf(ask, directive, output, reported ?? Math.min(thought, output)),
  };
}

/** Yields the text deltas of a stream. */
export function* textDeltas({ directive, text }: Answer): Generator<string> {
  const giant = directive.giant_event_bytes ?? 0;
  if (giant > 0) yield text.slice(0, giant);
  if (directive.total_bytes !== undefined) yield* fillerBlocks(directive.total_bytes);
  else yield* pieces(text.slice(giant), directive.deltas);
}

/** Returns the argument deltas of a tool call. At least one, as real providers send. */
export function argumentDeltas(answer: Answer, tool: ToolCall): string[] {
  const cut = pieces(tool.arguments, answer.directive.argument_deltas ?? 3);
  return cut.length > 0 ? cut : [""];
}

function countExtras(directive: Directive, tools: readonly ToolCall[]): number {
  const spoken = [directive.text_after ?? "", directive.refusal ?? ""];
  for (const tool of tools) spoken.push(tool.name, tool.arguments);
  return spoken.reduce((sum, part) => sum + countTokens(part), 0);
}

function asToolCall(tool: NonNullable<Directive["tools"]>[number]): ToolCall {
  const given = tool.arguments ?? {};
  return {
    name: tool.name,
    id: tool.id,
    namespace: tool.namespace,
    custom: tool.custom === true,
    arguments: typeof given === "string" ? given : JSON.stringify(given),
  };
}

function ending(
  directive: Directive,
  tools: readonly ToolCall[],
  stopped: boolean,
  cut: boolean,
): Ending {
  if (cut) return "length";
  if (directive.refusal !== undefined) return "refusal";
  if (tools.length > 0) return "tools";
  return stopped || directive.stop_sequence !== undefined ? "stop_sequence" : "stop";
}

function usageOf(ask: Ask, directive: Directive, output: number, reasoning: number): Usage {
  if (directive.usage === "zero") {
    return { input: 0, cacheRead: 0, cacheWrite: 0, image: 0, output: 0, reasoning: 0 };
  }
  const images = ask.images === 0 ? 0 : (directive.images ?? ask.images);
  const made = ask.images === 0 ? output * ask.choices : images * tokensPerImageMade;
  return {
    input: directive.input_tokens ?? ask.inputTokens,
    cacheRead: directive.cache_read_tokens ?? 0,
    cacheWrite: directive.cache_write_tokens ?? 0,
    image: directive.image_tokens ?? ask.imageTokens,
    output: directive.output_tokens === undefined ? made : output,
    reasoning,
  };
}
