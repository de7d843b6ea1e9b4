import { isObject, type JsonObject, objectOf } from "../../core/contract/index.ts";
import type { ChatUsage, MessagesUsage } from "./types.ts";

/**
 * Converts the usage of a Chat reply to Messages. Chat counts cached tokens in the prompt, Messages
 * does not. Some servers count reasoning only in the total, not in the completion. Without usage,
 * all counts are 0.
 */
export function toMessagesUsage(usage: unknown): MessagesUsage {
  const given = objectOf(usage) ?? {};
  const prompt = objectOf(given["prompt_tokens_details"]) ?? {};
  const read = firstPositive(
    prompt["cached_tokens"],
    given["prompt_cache_hit_tokens"],
    given["cache_read_input_tokens"],
  );
  const written = firstPositive(
    prompt["cache_write_tokens"],
    prompt["cache_creation_tokens"],
    given["cache_creation_tokens"],
    given["cache_creation_input_tokens"],
  );
  const promptTokens = tokens(given["prompt_tokens"]);
  const completionTokens = tokens(given["completion_tokens"]);
  const details = objectOf(given["completion_tokens_details"]);
  const reasoning = details?.["reasoning_tokens"];
  const beyondPrompt = tokens(given["total_tokens"]) - promptTokens;
  const translated: MessagesUsage = {
    input_tokens: Math.max(0, promptTokens - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens:
      tokens(reasoning) > 0 ? Math.max(completionTokens, beyondPrompt) : completionTokens,
  };
  if (isCount(reasoning)) translated.output_tokens_details = { thinking_tokens: reasoning };
  return translated;
}

/**
 * Converts the usage of a Messages reply to Chat. A stream reports cumulative usage several times:
 * add the reports in order. A later number replaces an earlier one; null replaces nothing.
 */
export class MessagesUsageSum {
  private input = 0;
  private read = 0;
  private written = 0;
  private output = 0;
  private thinking: number | undefined = undefined;

  add(usage: unknown): void {
    if (!isObject(usage)) return;
    this.input = newer(usage, "input_tokens", this.input);
    this.read = newer(usage, "cache_read_input_tokens", this.read);
    this.written = newer(usage, "cache_creation_input_tokens", this.written);
    this.output = newer(usage, "output_tokens", this.output);
    const thinking = objectOf(usage["output_tokens_details"])?.["thinking_tokens"];
    if (isCount(thinking)) this.thinking = thinking;
  }

  toChat(): ChatUsage {
    const prompt = this.input + this.read + this.written;
    const usage: ChatUsage = {
      prompt_tokens: prompt,
      completion_tokens: this.output,
      total_tokens: prompt + this.output,
      prompt_tokens_details: { cached_tokens: this.read, cache_write_tokens: this.written },
    };
    if (this.thinking !== undefined) {
      usage.completion_tokens_details = { reasoning_tokens: this.thinking };
    }
    return usage;
  }
}

function newer(usage: JsonObject, key: string, known: number): number {
  const value = usage[key];
  return isCount(value) ? value : known;
}

function firstPositive(...values: unknown[]): number {
  return values.map(tokens).find((value) => value > 0) ?? 0;
}

function tokens(value: unknown): number {
  return isCount(value) ? value : 0;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
