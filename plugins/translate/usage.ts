import type { Usage } from "../../core/plugin/index.ts";
import type { ChatUsage, MessagesUsage } from "./types.ts";

/**
 * Shows the usage of a Chat reply to a Messages client. It is what the call is charged. Chat counts
 * cached tokens in the prompt, Messages does not.
 */
export function toMessagesUsage(usage: Usage): MessagesUsage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const shown: MessagesUsage = {
    input_tokens: Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    output_tokens: outputTokens,
  };
  if (usage.reasoningReported) {
    shown.output_tokens_details = { thinking_tokens: usage.reasoningTokens };
  }
  return shown;
}

/** Shows the usage of a Messages reply to a Chat client. It is what the call is charged. */
export function toChatUsage(usage: Usage): ChatUsage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const shown: ChatUsage = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cacheReadTokens,
      cache_write_tokens: cacheWriteTokens,
    },
  };
  if (usage.reasoningReported) {
    shown.completion_tokens_details = { reasoning_tokens: usage.reasoningTokens };
  }
  return shown;
}
