import type { Ask, Tool } from "./ask.ts";
import { type Directive, withoutDirectives } from "./directive.ts";
import { sampleArguments, sampleOf } from "./sample.ts";
import { countTokens, cutToTokens, fillerText } from "./text.ts";

interface ToolCall {
  readonly name: string;
  readonly arguments: string;
}

/** Token counts. Input includes what the cache had, output includes thinking. */
export interface Usage {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

/** A reply of the simulated model, in any protocol. */
export interface Answer {
  readonly ask: Ask;
  /** 24 hex digits, the same for equal requests. */
  readonly id: string;
  readonly thinking: string;
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly ending: "stop" | "length" | "tools" | "stop_sequence";
  readonly stopSequence: string | null;
  /** Undefined if the reply states none. */
  readonly usage: Usage | undefined;
}

/** Creation time of every reply, in seconds. Constant, so that equal requests get equal bytes. */
export const createdAt = 1_750_000_000;

const FILLER_TOKENS_MAX = 1_000_000;
const QUOTED_CHARS_MAX = 60;

/** Makes the reply that a directive asks for, else text; tools are called only on demand. */
export function answerTo(ask: Ask, directive: Directive, id: string, echo: string): Answer {
  const limit = directive.ignore_max_tokens === true ? undefined : ask.maxTokens;
  const thinking = cutToTokens(directive.thinking ?? "", limit);
  const thought = countTokens(thinking);
  const room = limit === undefined ? undefined : Math.max(0, limit - thought);
  const calls = callsFor(ask, directive);
  const full = calls.length > 0 ? "" : textFor(ask, directive, { echo, thought, room });
  const cut = directive.echo === true ? full : cutToTokens(full, room);
  const { text, stop } = beforeStop(cut, ask.stops);
  const called = calls.reduce((sum, call) => sum + countTokens(call.name + call.arguments), 0);
  const made = thought + countTokens(text) + called;
  const wanted = directive.output_tokens ?? made;
  const output = limit === undefined || directive.echo ? wanted : Math.min(wanted, limit);
  const isCut = (stop === null && text.length < full.length) || output < wanted;
  const usage = {
    input: directive.input_tokens ?? ask.inputTokens,
    cacheRead: directive.cache_read_tokens ?? 0,
    cacheWrite: directive.cache_write_tokens ?? 0,
    output,
    reasoning: Math.min(directive.reasoning_tokens ?? thought, output),
  };
  return {
    ...{ ask, id, thinking, text, calls },
    ending: isCut
      ? "length"
      : calls.length > 0
        ? "tools"
        : stop === null
          ? "stop"
          : "stop_sequence",
    stopSequence: isCut ? null : stop,
    usage: directive.usage === "missing" ? undefined : usage,
  };
}

/** Calls of the directive that the request offers, or the one that it demands. */
function callsFor({ tools, forced, words }: Ask, directive: Directive): ToolCall[] {
  const asked = (directive.tools ?? []).filter(({ name }) => tools.some((it) => it.name === name));
  if (asked.length > 0) {
    return asked.map(({ name, arguments: given = {} }) => ({
      name,
      arguments: typeof given === "string" ? given : JSON.stringify(given),
    }));
  }
  const demanded = (tool: Tool) => forced === true || tool.name === forced;
  return tools
    .filter(demanded)
    .slice(0, 1)
    .map(({ name, schema }) => ({
      name,
      arguments: JSON.stringify(sampleArguments(schema, quoted(words))),
    }));
}

interface TextContext {
  readonly echo: string;
  readonly thought: number;
  readonly room: number | undefined;
}

function textFor(ask: Ask, directive: Directive, { echo, thought, room }: TextContext): string {
  if (directive.echo === true) return echo;
  if (directive.text !== undefined) return directive.text;
  if (directive.output_tokens !== undefined) {
    const wanted = Math.max(0, directive.output_tokens - thought);
    const tokens = Math.min(wanted, room ?? wanted, FILLER_TOKENS_MAX);
    return fillerText(tokens);
  }
  if (ask.format !== undefined) return JSON.stringify(sampleOf(ask.format, quoted(ask.words)));
  return inTags(ask.prompt) ?? `This is a simulated answer to "${quoted(ask.words)}".`;
}

/**
 * Replies to two questions that coding agents ask beside the conversation, and whose replies they
 * read by tags: for a summary of it, and if an action is safe. The simulator cannot judge that, so a
 * person has to.
 */
function inTags(prompt: string): string | undefined {
  if (/MUST begin with <block>/i.test(prompt)) {
    return "<block>yes</block><category>Simulated</category><reason>[Simulated] No model has judged this action.</reason>";
  }
  if (/<summary>/.test(prompt)) return "<summary>\nA simulated conversation.\n</summary>";
  return undefined;
}

/** The first words of a prompt; of what stands in a tag at its start if there is one. */
function quoted(words: string): string {
  const plain = withoutDirectives(words);
  const [, , inner = plain] = /^<([\w-]+)>\s*(.*?)\s*<\/\1>/s.exec(plain) ?? [];
  return [...inner].slice(0, QUOTED_CHARS_MAX).join("");
}

/** Ends a text before the first stop sequence in it. */
function beforeStop(
  text: string,
  stops: readonly string[],
): { readonly text: string; readonly stop: string | null } {
  const [first] = stops
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at);
  return first ? { text: text.slice(0, first.at), stop: first.stop } : { text, stop: null };
}
