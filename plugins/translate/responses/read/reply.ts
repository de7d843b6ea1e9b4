import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  readUsage,
  Usage,
} from "../../../../core/plugin/index.ts";
import { answeredInputOf, isWrapped } from "../../arguments.ts";
import type { MessagesContext } from "../../chat/write/request.ts";
import { brokenForMessages, type Reply, responsesErrorIn200, UNREADABLE } from "../../errors.ts";
import { type RandomText, randomText, toMessageId, toMessagesToolId } from "../../ids.ts";
import { textBlocks } from "../../messages/content.ts";
import { stopOf } from "../../messages/ending.ts";
import { refusalBlock } from "../../messages/refusal.ts";
import { originalName } from "../../names.ts";
import type { AnswerBlock, MessagesAnswer, MessagesError } from "../../types.ts";
import { toMessagesUsage } from "../../usage.ts";
import { GAP, withoutCommentary } from "./texts.ts";

/** Translates a whole reply of a Responses upstream, with status 200, for a Messages client. */
export function responsesToMessages(
  body: unknown,
  context: MessagesContext,
  random: RandomText = randomText,
): Reply<MessagesAnswer | MessagesError> {
  if (!isObject(body)) return brokenForMessages(UNREADABLE);
  if (isObject(body["error"])) return responsesErrorIn200(body["error"]);
  if (!Array.isArray(body["output"])) return brokenForMessages(UNREADABLE);
  const items = withoutCommentary(body["output"].filter(isObject), context);
  const content = contentOf(items, context, random);
  const usage = new Usage();
  usage.cachedBeside = context.cachedBeside;
  readUsage("responses", body, usage);
  const answer: MessagesAnswer = {
    id: toMessageId(body["id"], random),
    type: "message",
    role: "assistant",
    model: context.model,
    content,
    ...stopOf({
      finishReason: finishReasonOf(body),
      called: content.some(({ type }) => type === "tool_use"),
      isCallCut: content.some((block) => block.type === "tool_use" && isWrapped(block.input)),
      refusal: items.flatMap(refusalsOf).join(""),
      marksRefusals: context.marksRefusals === true,
      matched: "",
    }),
    usage: toMessagesUsage(usage),
  };
  return { status: 200, body: answer };
}

/** Returns why a response is incomplete, as Chat names it; empty for a complete one. */
export function finishReasonOf(response: JsonObject): string {
  if (response["status"] !== "incomplete") return "";
  const reason = objectOf(response["incomplete_details"])?.["reason"];
  return reason === "content_filter" ? "content_filter" : "length";
}

/** Returns the reasoning of an item, as far as the provider shows it. */
export function thinkingOf(item: JsonObject): string {
  const parts = [...arrayOf(item["summary"]), ...arrayOf(item["content"])].filter(isObject);
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("\n\n");
}

function contentOf(
  items: readonly JsonObject[],
  context: MessagesContext,
  random: RandomText,
): AnswerBlock[] {
  let isNext = false;
  return items.flatMap((item) => {
    const [first, ...rest] = blocksOf(item, context, random);
    if (first?.type !== "text" || first.refusal) return first ? [first, ...rest] : [];
    const gap = isNext && context.joinsTexts ? GAP : "";
    isNext = true;
    return [{ ...first, text: gap + first.text }, ...rest];
  });
}

function blocksOf(item: JsonObject, context: MessagesContext, random: RandomText): AnswerBlock[] {
  switch (item["type"]) {
    case "reasoning": {
      const thinking = thinkingOf(item);
      const { encrypted_content: given } = item;
      const state = typeof given === "string" ? given : "";
      if (thinking === "" && state === "") return [];
      return [
        { type: "thinking", thinking, signature: context.state?.pack(state, thinking) ?? "" },
      ];
    }
    case "message":
      return arrayOf(item["content"])
        .filter(isObject)
        .flatMap((part) => {
          const { type, text, refusal } = part;
          if (type === "refusal") return [refusalBlock(String(refusal ?? ""), context)];
          return typeof text === "string" ? textBlocks(text) : [];
        });
    case "function_call": {
      const name = typeof item["name"] === "string" ? item["name"] : "";
      if (name === "") return [];
      return [
        {
          type: "tool_use",
          id: toMessagesToolId(item["call_id"], random),
          name: originalName(context.toolNames, name),
          input: answeredInputOf(item["arguments"]),
        },
      ];
    }
    default:
      return [];
  }
}

function refusalsOf(item: JsonObject): string[] {
  const parts = arrayOf(item["content"]).filter(isObject);
  return parts.flatMap(({ refusal }) => (typeof refusal === "string" ? [refusal] : []));
}
