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

type Name = keyof typeof PATHS;

/** The numbers of one report, without those that the provider does not state. */
export type Numbers = { readonly [name in Name]?: number };

/**
 * Maximum number of tokens that is read; larger ones are read as this one. No reply has as many tokens, and sums of
 * such numbers are still exact. `meter` withdraws numbers that no call can have.
 */
const TOKENS_MAX = 1e13;

/** A number that a field may state, and the place of its path among the paths to it. */
interface Stated {
  readonly name: Name;
  readonly rank: number;
}

/** By field: a report has few of the fields that are known, so they are looked up by those that it has. */
const topFields = new Map<string, Stated>();
const innerFields = new Map<string, Map<string, Stated>>();
for (const [name, paths] of Object.entries(PATHS)) {
  for (const [rank, path] of paths.entries()) {
    const [field = "", inner] = path.split(".");
    const stated = { name: name as Name, rank };
    if (inner === undefined) topFields.set(field, stated);
    else innerFields.set(field, (innerFields.get(field) ?? new Map()).set(inner, stated));
  }
}

/** Reads a report of any protocol: a JSON object of numbers. */
export function numbersOf(report: JsonObject): Numbers {
  const numbers: { [name in Name]?: number } = {};
  const ranks: { [name in Name]?: number } = {};
  const take = ({ name, rank }: Stated, value: unknown) => {
    const tokens = tokensOf(value);
    if (tokens === undefined) return;
    const isFirst = !numbers[name] || (tokens > 0 && rank < (ranks[name] ?? 0));
    if (!isFirst) return;
    numbers[name] = tokens;
    ranks[name] = rank;
  };
  for (const field in report) {
    const stated = topFields.get(field);
    if (stated) take(stated, report[field]);
    const known = innerFields.get(field);
    const inner = known && objectOf(report[field]);
    for (const name in inner) {
      const within = known?.get(name);
      if (within) take(within, inner[name]);
    }
  }
  return numbers;
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
