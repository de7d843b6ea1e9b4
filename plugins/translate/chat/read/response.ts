import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  readUsage,
  Usage,
} from "../../../../core/plugin/index.ts";
import { answeredInputOf, isBlank, isWrapped } from "../../arguments.ts";
import {
  brokenForMessages,
  chatErrorIn200,
  endedBy,
  type Reply,
  UNREADABLE,
} from "../../errors.ts";
import { type RandomText, randomText, toMessageId, toMessagesToolId } from "../../ids.ts";
import type { Thought } from "../../messages/blocks.ts";
import { isFailure, isLost, stopOf } from "../../messages/ending.ts";
import { refusalBlock } from "../../messages/refusal.ts";
import { originalName } from "../../names.ts";
import type { AnswerBlock, MessagesAnswer, MessagesError, MessagesToolUse } from "../../types.ts";
import { toMessagesUsage } from "../../usage.ts";
import type { MessagesContext } from "../write/request.ts";
import {
  firstChoice,
  functionOf,
  matchedStop,
  stringOf,
  textOf,
  thoughtSignatureOf,
  thoughtsOf,
} from "./parts.ts";

/**
 * Translates a whole reply of a Chat Completions upstream, with status 200, for a Messages client.
 */
export function chatToMessagesResponse(
  body: unknown,
  context: MessagesContext,
  random: RandomText = randomText,
): Reply<MessagesAnswer | MessagesError> {
  if (!isObject(body)) return brokenForMessages(UNREADABLE);
  const choice = firstChoice(body["choices"]);
  if (!choice) return body["error"] ? chatErrorIn200(body) : brokenForMessages(UNREADABLE);
  const finishReason = stringOf(choice["finish_reason"]);
  if (isFailure(finishReason)) {
    const failed = isObject(choice["error"]) ? choice : body;
    return failed["error"] ? chatErrorIn200(failed) : endedBy(finishReason);
  }
  const message = objectOf(choice["message"]) ?? {};
  const text = textOf(message["content"]);
  const refusal = stringOf(message["refusal"]);
  const calls = callsOf(message, context, random);
  const content: AnswerBlock[] = thoughtsOf(message).map((thought) => sealed(thought, context));
  if (!isBlank(text)) content.push({ type: "text", text });
  else if (refusal !== "") content.push(refusalBlock(refusal, context));
  for (const call of calls) content.push(call);
  if (isLost(finishReason, content.length > 0)) return endedBy(finishReason);
  const usage = new Usage();
  usage.cachedBeside = context.cachedBeside;
  readUsage("chat", body, usage);
  const answer: MessagesAnswer = {
    id: toMessageId(body["id"], random),
    type: "message",
    role: "assistant",
    model: context.model,
    content,
    ...stopOf({
      finishReason,
      called: calls.some(({ type }) => type === "tool_use"),
      isCallCut: calls.some((call) => call.type === "tool_use" && isWrapped(call.input)),
      refusal,
      marksRefusals: context.marksRefusals === true,
      matched: matchedStop(choice),
    }),
    usage: toMessagesUsage(usage),
  };
  return { status: 200, body: answer };
}

function callsOf(message: JsonObject, context: MessagesContext, random: RandomText): AnswerBlock[] {
  const given = arrayOf(message["tool_calls"]).filter(isObject);
  const legacy = objectOf(message["function_call"]);
  if (legacy) given.push({ function: legacy });
  return given.flatMap((call) => {
    const { name, args } = functionOf(call);
    // Ignore a call without a tool name.
    if (name === "") return [];
    const use: MessagesToolUse = {
      type: "tool_use",
      id: toMessagesToolId(call["id"], random),
      name: originalName(context.toolNames, name),
      input: answeredInputOf(args),
    };
    const signature = thoughtSignatureOf(call);
    if (signature === "" || !context.state) return [use];
    // The state stands in a thinking block right before its call: agents return these blocks
    // unchanged.
    const packed = context.state.pack(signature, "");
    return [{ type: "thinking" as const, thinking: "", signature: packed }, use];
  });
}

/** Signs thinking with its maker's name, so that it goes back to no other maker. */
function sealed(thought: Thought, { state }: MessagesContext): Thought {
  if (thought.type !== "thinking" || thought.signature !== "" || !state) return thought;
  return { ...thought, signature: state.pack("", thought.thinking) };
}
