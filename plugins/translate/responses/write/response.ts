import { isObject, type JsonObject, readUsage, Usage } from "../../../../core/plugin/index.ts";
import { argumentsOf } from "../../arguments.ts";
import { explanationOf } from "../../chat/write/answer.ts";
import { brokenForChat, messagesErrorToChat, type Reply, UNREADABLE } from "../../errors.ts";
import { type RandomText, randomText } from "../../ids.ts";
import type { ChatError } from "../../types.ts";
import type { ResponsesContext } from "../read/request.ts";
import { originalTool } from "../read/tools.ts";
import {
  callItem,
  compactionItem,
  isRefusal,
  messageItem,
  partOf,
  reasoningItem,
  statusOf,
} from "./items.ts";

/** A Responses reply, without the fields that say how it ended. */
export class ResponseObject {
  readonly output: JsonObject[] = [];
  readonly usage = new Usage();
  stopReason = "";
  private readonly id: string;
  private readonly created: number;

  /** `nowMs`: creation time of the reply in milliseconds since the Unix epoch. */
  constructor(
    private readonly context: ResponsesContext,
    nowMs: number,
    random: RandomText,
  ) {
    this.id = `resp_${random(24)}`;
    this.created = Math.floor(nowMs / 1000);
  }

  /** True if the limit of tokens, or the end of the context, has ended the reply. */
  get isCut(): boolean {
    return incompleteReason(this.stopReason) === "max_output_tokens";
  }

  opening(): JsonObject {
    return this.made("in_progress", {});
  }

  /** The whole reply, as the model ended it. */
  ended(): JsonObject {
    const reason = incompleteReason(this.stopReason);
    const status = reason === undefined ? "completed" : "incomplete";
    const incomplete_details = reason === undefined ? null : { reason };
    return this.made(status, { incomplete_details, usage: toResponsesUsage(this.usage) });
  }

  failed(code: string, message: string): JsonObject {
    return this.made("failed", { error: { code, message } });
  }

  private made(status: string, more: JsonObject): JsonObject {
    const { settings, model } = this.context;
    return {
      ...{ id: this.id, object: "response", created_at: this.created, status },
      ...{ background: false, error: null, incomplete_details: null, instructions: null },
      ...{ max_output_tokens: null, output: [...this.output], parallel_tool_calls: true },
      ...{ previous_response_id: null, reasoning: { effort: null, summary: null } },
      ...{ store: false, temperature: 1, text: { format: { type: "text" } }, tool_choice: "auto" },
      ...{ tools: [], top_p: 1, truncation: "disabled", usage: null, metadata: {} },
      ...settings,
      model,
      ...more,
    };
  }
}

/**
 * Translates a whole reply of Messages, with status 200, for a Responses client.
 */
export function messagesToResponse(
  body: unknown,
  context: ResponsesContext,
  nowMs: number,
  random: RandomText = randomText,
): Reply<JsonObject | ChatError> {
  if (!isObject(body)) return brokenForChat(UNREADABLE, null);
  if (!Array.isArray(body["content"])) {
    const failed = body["type"] === "error" || isObject(body["error"]);
    return failed ? messagesErrorToChat(200, body) : brokenForChat(UNREADABLE, null);
  }
  const response = new ResponseObject(context, nowMs, random);
  readUsage("messages", body, response.usage);
  response.stopReason = String(body["stop_reason"] ?? "");
  const blocks = body["content"].filter(isObject);
  for (const [at, block] of blocks.entries()) {
    const isCut = response.isCut && at === blocks.length - 1;
    const item = itemOf(block, context, random, statusOf(isCut));
    if (item) response.output.push(item);
  }
  const explanation = explanationOf(response.stopReason, body["stop_details"]);
  if (explanation !== null && !body["content"].some(isRefusal)) {
    const part = partOf(explanation, true);
    response.output.push(messageItem(`msg_${random(24)}`, part, "completed"));
  }
  return { status: 200, body: response.ended() };
}

function itemOf(
  block: JsonObject,
  context: ResponsesContext,
  random: RandomText,
  status: string,
): JsonObject | undefined {
  switch (block["type"]) {
    case "text": {
      const part = partOf(String(block["text"] ?? ""), isRefusal(block));
      return messageItem(`msg_${random(24)}`, part, status);
    }
    case "thinking":
    case "redacted_thinking":
      return reasoningItem(`rs_${random(24)}`, block, context.showsReasoning);
    case "tool_use": {
      const tool = originalTool(context.tools, String(block["name"] ?? ""));
      return callItem(tool, block["id"], argumentsOf(block["input"]), random, status);
    }
    case "compaction":
      return compactionItem(block, random);
    default:
      return undefined;
  }
}

function incompleteReason(stopReason: string): string | undefined {
  switch (stopReason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "max_output_tokens";
    case "refusal":
      return "content_filter";
    default:
      return undefined;
  }
}

/** Shows the usage of a reply to a Responses client. It is what the call is charged. */
function toResponsesUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: cacheReadTokens,
      cache_write_tokens: cacheWriteTokens,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}
