import { countOf, type JsonObject, objectOf } from "../../process/json.ts";

/**
 * The places of each number in the reports of all providers. A path has at most one dot. The first number above 0
 * counts.
 */
const PATHS = {
  input: [
    ...["prompt_tokens", "input_tokens", "inputTokens", "promptTokens", "promptTokenCount"],
    // Cohere.
    ...["tokens.input_tokens", "billed_units.input_tokens"],
    // Google's SDKs and Llama on Bedrock; metrics of Bedrock; watsonx; Ollama; llama.cpp.
    ...["prompt_token_count", "inputTokenCount", "input_token_count", "prompt_eval_count"],
    ...["prompt_n", "tokens_evaluated"],
  ],
  output: [
    ...["completion_tokens", "output_tokens", "outputTokens", "completionTokens"],
    ...["candidatesTokenCount", "tokens.output_tokens", "billed_units.output_tokens"],
    ...["candidates_token_count", "responseTokenCount", "response_token_count"],
    ...["generation_token_count", "outputTokenCount", "generated_token_count", "eval_count"],
    ...["predicted_n", "tokens_predicted"],
  ],
  total: ["total_tokens", "totalTokens", "totalTokenCount", "total_token_count"],
  /** The tokens that Google's tools add to the prompt, beside it. ai.google.dev: UsageMetadata. */
  toolInput: ["toolUsePromptTokenCount", "tool_use_prompt_token_count"],
  cacheRead: [
    ...["prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens"],
    ...["prompt_token_details.cached_tokens", "input_token_details.cached_tokens"],
    ...["prompt_cache_hit_tokens", "cache_read_input_tokens"],
    // Moonshot and Mistral.
    ...["cached_tokens", "num_cached_tokens"],
    ...["cacheReadInputTokens", "cachedContentTokenCount", "cached_content_token_count"],
    // Metrics of Bedrock; Ollama; llama.cpp; GigaChat.
    ...["cacheReadInputTokenCount", "prompt_eval_cached_count", "cache_n"],
    "precached_prompt_tokens",
  ],
  cacheWrite: [
    ...["prompt_tokens_details.cache_write_tokens", "input_tokens_details.cache_write_tokens"],
    ...["prompt_tokens_details.cache_creation_tokens", "cache_creation_tokens"],
    ...["prompt_tokens_details.cache_creation_input_tokens", "cache_creation_input_tokens"],
    ...["cacheWriteInputTokens", "cacheWriteInputTokenCount"],
  ],
  reasoning: [
    ...["completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens"],
    ...["output_tokens_details.thinking_tokens", "reasoning_tokens"],
    ...["output_token_details.reasoning_tokens", "reasoning_content_tokens"],
  ],
  /** Reasoning of Google's models, beside the answer. vercel/ai records 12 + 65 + 71 + 89 = 237. */
  thoughts: ["thoughtsTokenCount", "thoughts_token_count"],
  text: ["prompt_tokens_details.text_tokens", "input_tokens_details.text_tokens"],
  audio: ["prompt_tokens_details.audio_tokens", "input_tokens_details.audio_tokens"],
  imageInput: ["prompt_tokens_details.image_tokens", "input_tokens_details.image_tokens"],
  videoInput: ["prompt_tokens_details.video_tokens", "input_tokens_details.video_tokens"],
  /** Pages that a search has found, as Perplexity bills them. */
  citations: ["citation_tokens"],
  audioOutput: ["completion_tokens_details.audio_tokens", "output_tokens_details.audio_tokens"],
  imageOutput: ["completion_tokens_details.image_tokens", "output_tokens_details.image_tokens"],
  /** Image tokens beside the other fields. The input may or may not include them. */
  images: ["image_tokens"],
} as const;

/** The numbers of one report; undefined if the provider does not state them. */
export type Numbers = { readonly [Name in keyof typeof PATHS]: number | undefined };

/**
 * Maximum number of tokens that is read; larger ones are read as this one. No reply has as many tokens, and sums of
 * such numbers are still exact. `meter` withdraws numbers that no call can have.
 */
const TOKENS_MAX = 1e13;

const split = Object.entries(PATHS).map(
  ([name, paths]) => [name, paths.map((path) => path.split("."))] as const,
);

/** Reads a report of any protocol: a JSON object of numbers. */
export function numbersOf(report: JsonObject): Numbers {
  const numbers: Record<string, number | undefined> = {};
  for (const [name, paths] of split) {
    let found: number | undefined;
    for (const [field = "", below] of paths) {
      const value = below === undefined ? report[field] : objectOf(report[field])?.[below];
      found = tokensOf(value) ?? found;
      if (found !== undefined && found > 0) break;
    }
    numbers[name] = found;
  }
  return numbers as Numbers;
}

/** Returns a number of tokens, bounded; undefined if the value is not one. */
export function tokensOf(value: unknown): number | undefined {
  const count = countOf(value);
  return count === undefined ? undefined : Math.min(count, TOKENS_MAX);
}

/** Returns true if a report states at least one number of tokens that can be charged. */
export function statesTokens({ input, output, total }: Numbers): boolean {
  return input !== undefined || output !== undefined || total !== undefined;
}
