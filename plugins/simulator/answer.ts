import { hash } from "node:crypto";
import type { Ask } from "./ask.ts";
import type { Directive } from "./directive.ts";
import { say } from "./say.ts";
import { countTokens, cutToTokens, fillerBlocks, pieces } from "./text.ts";

export interface ToolCall {
  readonly name: string;
  /** 24 characters for ids made here, or the whole id the directive gave. */
  readonly id: string | undefined;
  readonly arguments: string;
}

/** Every number is a total: input holds cache and images, output holds reasoning. */
export interface Usage {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly image: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Why the output ended; each protocol has its own words for it. */
export type Ending = "stop" | "length" | "tools" | "refusal" | "stop_sequence";

/** What the simulated model says, before any protocol has shaped it. */
export interface Answer {
  readonly ask: Ask;
  readonly directive: Directive;
  /** 24 hex digits: the same for the same request. */
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

/** Every answer was made at this second, so that the same request gives the same bytes. */
export const createdAt = 1_750_000_000;

const tokensPerImageMade = 1_000;

/** What the simulator knows of a request beside its fields. */
interface Arrival {
  readonly bytes: Uint8Array;
  /** Up to 24 hex digits that make the ids of equal requests differ; empty by default. */
  readonly salt: string;
  /** The request as JSON, where the directive asks for it back. */
  readonly echo: string | undefined;
}

/** Answers a request as its directive asks. */
export function makeAnswer(ask: Ask, directive: Directive, arrival: Arrival): Answer {
  const id = hash("sha256", arrival.bytes, "hex").slice(0, 24 - arrival.salt.length) + arrival.salt;
  const limit = directive.ignore_max_tokens === true ? undefined : ask.maxTokens;
  const thinking = cutToTokens(directive.thinking ?? "", limit);
  const thought = directive.reasoning_tokens ?? countTokens(thinking);
  const said = say(ask, directive, {
    echo: arrival.echo,
    seed: Number.parseInt(id.slice(0, 8), 16),
    thought,
    room: limit === undefined ? undefined : Math.max(0, limit - thought),
  });
  const tools = (directive.tools ?? []).map(asToolCall);
  const wanted = directive.output_tokens ?? thought + said.tokens + countExtras(directive, tools);
  const output = limit === undefined || said.unlimited ? wanted : Math.min(wanted, limit);
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
    usage: usageOf(ask, directive, output, Math.min(thought, output)),
  };
}

/** The text in the deltas of a stream. */
export function* textDeltas({ directive, text }: Answer): Generator<string> {
  const giant = directive.giant_event_bytes ?? 0;
  if (giant > 0) yield text.slice(0, giant);
  if (directive.total_bytes !== undefined) yield* fillerBlocks(directive.total_bytes);
  else yield* pieces(text.slice(giant), directive.deltas);
}

/** The arguments of a tool call in the deltas of a stream; at least one, as real providers send. */
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
    reasoning: directive.reasoning_tokens ?? reasoning,
  };
}
