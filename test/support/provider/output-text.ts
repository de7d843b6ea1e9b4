import { countTokens, cutToTokens } from "../../../plugins/simulator/text.ts";
import type { Ask } from "./ask.ts";
import type { Directive } from "./directive.ts";
import { withoutMarkers } from "./find-directive.ts";
import { fillerBlocks, fillerText } from "./text.ts";

/** Maximum text that is kept whole, so that a stream of 200 MB does not need 200 MB. */
const keptBytes = 65_536;

/** Maximum filler tokens: more are only reported. Use `total_bytes` for more text. */
const fillerTokensMax = 1_000_000;

/** The text of a reply and how it ended. */
interface OutputText {
  readonly text: string;
  readonly tokens: number;
  /** True if the caller's limit cut the text. */
  readonly cut: boolean;
  /** True if the limit does not apply to this text. */
  readonly unlimited: boolean;
  /** The caller's stop sequence that ended the text. */
  readonly stop: string | undefined;
}

/** The facts beside the request and its directive on which the text depends. */
interface TextOptions {
  /** Used as the text, regardless of the limit. */
  readonly echo: string | undefined;
  /** Equal seeds give equal words. */
  readonly seed: number;
  /** Tokens used for thinking. */
  readonly thought: number;
  /** Tokens left of the caller's limit. */
  readonly room: number | undefined;
}

/** Makes the output text, cut to the caller's limit and at the caller's stop sequences. */
export function outputText(ask: Ask, directive: Directive, options: TextOptions): OutputText {
  const { echo, room } = options;
  const uncut = { cut: false, unlimited: true, stop: undefined };
  if (echo !== undefined) return { ...uncut, text: echo, tokens: countTokens(echo) };
  if (directive.total_bytes !== undefined) {
    const kept = Math.min(directive.total_bytes, ask.stream ? keptBytes : 256 << 20);
    const text = [...fillerBlocks(kept)].join("");
    return { ...uncut, text, tokens: Math.ceil(directive.total_bytes / 4) };
  }
  const giant = "x".repeat(directive.giant_event_bytes ?? 0);
  const full = giant + (directive.text ?? defaultText(ask, directive, options));
  const text = cutToTokens(full, room);
  const stop = ask.stops
    .map((sequence) => ({ sequence, at: text.indexOf(sequence) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0];
  if (stop !== undefined) {
    const before = text.slice(0, stop.at);
    const tokens = countTokens(before);
    return { text: before, tokens, cut: false, unlimited: false, stop: stop.sequence };
  }
  const cut = text.length < full.length;
  return { text, tokens: countTokens(text), cut, unlimited: false, stop: undefined };
}

function defaultText(ask: Ask, directive: Directive, { seed, thought, room }: TextOptions): string {
  if (directive.tools !== undefined || directive.refusal !== undefined) return "";
  if (directive.output_tokens !== undefined) {
    const wanted = Math.max(0, directive.output_tokens - thought);
    return fillerText(seed, Math.min(wanted, room ?? wanted, fillerTokensMax));
  }
  const quote = [...withoutMarkers(ask.prompt)].slice(0, 60).join("");
  return `This is a simulated answer to "${quote}".`;
}
