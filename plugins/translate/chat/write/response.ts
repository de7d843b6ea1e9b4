import {
  arrayOf,
  isObject,
  type JsonObject,
  readUsage,
  Usage,
} from "../../../../core/plugin/index.ts";
import { argumentsOf } from "../../arguments.ts";
import { brokenForChat, messagesErrorToChat, type Reply, UNREADABLE } from "../../errors.ts";
import { type RandomText, randomText, toCompletionId } from "../../ids.ts";
import { originalName } from "../../names.ts";
import type { AnswerToolCall, ChatAnswer, ChatAnswerMessage, ChatError } from "../../types.ts";
import { toChatUsage } from "../../usage.ts";
import type { ChatContext } from "../read/request.ts";
import { customInputOf, explanationOf, finishReasonOf, legacyReason } from "./answer.ts";

type Annotations = NonNullable<ChatAnswerMessage["annotations"]>;

/**
 * Translates a whole reply of a Messages upstream, with status 200, for a Chat client. `nowMs` is
 * its creation time in milliseconds since the Unix epoch.
 */
export function messagesToChatResponse(
  body: unknown,
  context: ChatContext,
  nowMs: number,
  random: RandomText = randomText,
): Reply<ChatAnswer | ChatError> {
  if (!isObject(body)) return brokenForChat(UNREADABLE, null);
  if (!Array.isArray(body["content"])) {
    const failed = body["type"] === "error" || isObject(body["error"]);
    return failed ? messagesErrorToChat(200, body) : brokenForChat(UNREADABLE, null);
  }
  const stopReason = typeof body["stop_reason"] === "string" ? body["stop_reason"] : "";
  const message = messageOf(body["content"].filter(isObject), context);
  message.refusal ??= explanationOf(stopReason, body["stop_details"]);
  const called = message.tool_calls !== undefined || message.function_call !== undefined;
  if (message.content === "" && (called || message.refusal !== null)) message.content = null;
  const usage = new Usage();
  readUsage("messages", body, usage);
  const answer: ChatAnswer = {
    id: toCompletionId(body["id"], random),
    object: "chat.completion",
    created: Math.floor(nowMs / 1000),
    model: context.model,
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: legacyReason(finishReasonOf(stopReason, called), context),
      },
    ],
    usage: toChatUsage(usage),
  };
  return { status: 200, body: answer };
}

function messageOf(blocks: readonly JsonObject[], context: ChatContext): ChatAnswerMessage {
  let content = "";
  let reasoning = "";
  let refusal: string | null = null;
  const annotations: Annotations = [];
  const thoughts: JsonObject[] = [];
  const calls: AnswerToolCall[] = [];
  for (const block of blocks) {
    switch (block["type"]) {
      case "text": {
        if (block["refusal"] === true) {
          refusal = `${refusal ?? ""}${String(block["text"])}`;
          break;
        }
        const start = content.length;
        if (typeof block["text"] === "string") content += block["text"];
        for (const found of citations(block, start, content.length)) annotations.push(found);
        break;
      }
      case "thinking":
        if (typeof block["thinking"] === "string") reasoning += block["thinking"];
        // The upstream accepts only signed thinking back, so only that is passed on.
        if (block["signature"]) thoughts.push(block);
        break;
      case "redacted_thinking":
        thoughts.push(block);
        break;
      case "tool_use":
        calls.push(callOf(block, context));
        break;
    }
  }
  const message: ChatAnswerMessage = {
    role: "assistant",
    content,
    refusal,
  };
  if (reasoning !== "") message.reasoning_content = reasoning;
  if (thoughts.length > 0) message.thinking_blocks = thoughts;
  const [first] = calls;
  if (context.isLegacy && first?.type === "function") message.function_call = first.function;
  else if (calls.length > 0) message.tool_calls = calls;
  if (annotations.length > 0) message.annotations = annotations;
  return message;
}

function callOf(block: JsonObject, context: ChatContext): AnswerToolCall {
  const id = typeof block["id"] === "string" ? block["id"] : "";
  const name = originalName(
    context.toolNames,
    typeof block["name"] === "string" ? block["name"] : "",
  );
  if (context.customTools.has(name)) {
    const input = isObject(block["input"]) ? customInputOf(block["input"]) : "";
    if (context.flatCustomTools.has(name)) {
      return { id, type: "function", function: { name, arguments: input } };
    }
    return { id, type: "custom", custom: { name, input } };
  }
  return { id, type: "function", function: { name, arguments: argumentsOf(block["input"]) } };
}

function citations(block: JsonObject, start: number, end: number): Annotations {
  return arrayOf(block["citations"]).flatMap((citation) => {
    if (!isObject(citation) || citation["type"] !== "web_search_result_location") return [];
    const { url, title } = citation;
    if (typeof url !== "string") return [];
    return [
      {
        type: "url_citation" as const,
        url_citation: {
          url,
          title: typeof title === "string" ? title : "",
          start_index: start,
          end_index: end,
        },
      },
    ];
  });
}
