import type { JsonObject } from "../../process/json.ts";
import { type Numbers, numbersOf, statesTokens } from "./numbers.ts";
import type { Usage } from "./usage.ts";
import { readCountedUses } from "./uses.ts";

/**
 * Reads a report whose input includes cached tokens, as in Chat and Responses. The last report
 * counts, but zeros never replace what was reported before. Returns false if it states no tokens.
 */
export function readReport(report: JsonObject, usage: Usage): boolean {
  const numbers = numbersOf(report);
  if (!statesTokens(numbers)) return false;
  readCountedUses(report, usage);
  const { input, output } = totalsOf(numbers, hasCachesBeside(report, usage));
  if (input !== undefined && (input > 0 || !usage.inputReported)) {
    usage.inputTokens = input;
    usage.inputReported = true;
    usage.cacheReadTokens = numbers.cacheRead ?? 0;
    usage.cacheWriteTokens = numbers.cacheWrite ?? 0;
  }
  if (output !== undefined && (output > 0 || !usage.outputReported)) {
    usage.outputTokens = output;
    usage.outputReported = true;
    usage.outputReports++;
    const reasoning = numbers.reasoning ?? numbers.thoughts;
    usage.reasoningTokens = reasoning ?? 0;
    usage.reasoningReported = reasoning !== undefined;
  }
  usage.totalOnly = numbers.input === undefined && numbers.output === undefined;
  return true;
}

/**
 * Returns the input and output that a report comes to; undefined if it does not say. Providers
 * leave parts out of the input or the output and show them beside it, or in the total alone. Each
 * part is charged once: it counts beside its whole if it is larger than that, which proves it, or
 * if the total has room for it.
 */
function totalsOf(numbers: Numbers, cacheBeside: CacheBeside) {
  const { input: stated, total, thoughts } = numbers;
  // A reply that ends while its model thinks has no answer.
  const written = numbers.output ?? (thoughts === undefined ? undefined : 0);
  if (stated === undefined && written === undefined) return { input: total, output: 0 };
  if (stated === undefined) return { input: beyond(total, written ?? 0), output: written };
  const input = stated + besideInput(numbers, stated, cacheBeside);
  if (written === undefined) return { input, output: beyond(total, input) };
  const output = written + besideOutput(numbers, written);
  const images = detachedImages(numbers, input + output);
  const rest = beyond(total, input + images + output) ?? 0;
  const audio = Math.min(rest, numbers.audio ?? 0);
  // Tokens that only the total shows are thinking: Google's Chat endpoint, bridges to Gemini.
  return { input: input + images + audio, output: output + rest - audio };
}

function beyond(total: number | undefined, known: number): number | undefined {
  return total === undefined ? undefined : Math.max(0, total - known);
}

/** Returns the tokens of caches and media that the input does not include. */
function besideInput(numbers: Numbers, input: number, cacheBeside: CacheBeside): number {
  const { cacheRead = 0, cacheWrite = 0, output = 0, total, toolInput = 0 } = numbers;
  const cached = cacheRead + cacheWrite;
  const without = input + output;
  const { text, audio = 0, imageInput = 0, videoInput = 0, citations = 0 } = numbers;
  const media = audio + imageInput + videoInput + (text ?? 0);
  const more = media <= input ? 0 : text === undefined ? media : media - input;
  const others = citations + toolInput + more;
  const isBeside =
    cached > input ||
    // Room for as many tokens of reasoning as are cached is no room for both.
    total === without + others + besideOutput(numbers, output) + cached ||
    cacheBeside === "always" ||
    (cacheBeside === "unless-in-total" && total !== without);
  return isBeside ? others + cached : others;
}

/** Returns the tokens of reasoning and media that the output does not include. */
export function besideOutput(
  { reasoning = 0, audioOutput = 0, imageOutput = 0, thoughts = 0, citations }: Numbers,
  output: number,
) {
  // Perplexity bills reasoning beside the output, as it does citations.
  if (citations !== undefined) return thoughts + reasoning;
  let beside = thoughts;
  for (const part of [reasoning, audioOutput, imageOutput]) if (part > output) beside += part;
  return beside;
}

/**
 * Returns the image tokens that are stated beside the other numbers and are not part of them. They
 * are billed as input. Without a total, nothing says that the input has them.
 */
export function detachedImages({ images = 0, total }: Numbers, others: number): number {
  return total === undefined || total >= others + images ? images : 0;
}

/** States if caches are beside the input even if the numbers do not prove it. */
type CacheBeside = "no" | "unless-in-total" | "always";

function hasCachesBeside(report: JsonObject, usage: Usage): CacheBeside {
  if (usage.cachedBeside) return "always";
  // llama.cpp: tokens that were processed, and those that were not because they are cached.
  if (report["prompt_n"] !== undefined) return "always";
  if (BEDROCK_CACHES.some((name) => report[name] !== undefined)) return "always";
  // The names of the Messages protocol, in which caches are beside the input.
  const isMessages =
    report["prompt_tokens"] === undefined && report["cache_read_input_tokens"] !== undefined;
  return isMessages ? "unless-in-total" : "no";
}

/** Caches in Bedrock's own reports. docs.aws.amazon.com, TokenUsage: the input does not include them. */
const BEDROCK_CACHES = [
  ...["cacheReadInputTokens", "cacheWriteInputTokens"],
  ...["cacheReadInputTokenCount", "cacheWriteInputTokenCount"],
];
