import type { Usage } from "../../core/plugin/index.ts";
import type { ClientStream } from "./stream.ts";
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

/** Shows the usage at the start of a reply: other protocols report it at the end, but agents read it here (vercel/ai#17326). */
export function startUsage(usage: Usage, { used }: Pick<ClientStream, "used">): MessagesUsage {
  const reported = toMessagesUsage(usage);
  if (usage.inputTokens > 0) return reported;
  return { ...reported, input_tokens: used?.().input_tokens ?? 0 };
}

/** The usage of a reply whose provider has reported none yet. */
export function estimatedUsage(inputTokens: number, outputTokens: number): MessagesUsage {
  return {
    ...{ input_tokens: inputTokens, output_tokens: outputTokens },
    ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  };
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
