import {
  arrayOf,
  encodeEvent,
  isObject,
  type JsonObject,
  objectOf,
  parseJson,
  readUsage,
  Usage,
} from "../../../../core/plugin/index.ts";
import { argumentsText, isBlank } from "../../arguments.ts";
import {
  brokenForMessages,
  chatErrorIn200,
  endedBy,
  MALFORMED,
  OVERSIZED,
  type Reply,
  TRUNCATED,
  UNREADABLE,
} from "../../errors.ts";
import { type RandomText, randomText, toMessageId, toMessagesToolId } from "../../ids.ts";
import { BlockWriter } from "../../messages/blocks.ts";
import { type StreamedCall, StreamedCalls } from "../../messages/calls.ts";
import { isFailure, isLost, REFUSAL_CHARS_MAX, stopOf } from "../../messages/ending.ts";
import { eventText } from "../../messages/events.ts";
import { gathered } from "../../messages/gatherer.ts";
import type { ClientStream, End, Mark, StreamTranslator, UpstreamEvent } from "../../stream.ts";
import type { MessagesAnswer, MessagesError, MessagesEvent } from "../../types.ts";
import { startUsage, toMessagesUsage } from "../../usage.ts";
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

/** Translates a whole reply of a Chat Completions upstream, with status 200, for a Messages client. */
export function chatToMessagesResponse(
  body: unknown,
  context: MessagesContext,
  random: RandomText = randomText,
): Reply<object> {
  return gathered((client) => new ChatToMessagesStream(context, client, random).whole(body));
}

/** Translates the stream of a Chat Completions upstream for a Messages client. */
export class ChatToMessagesStream implements StreamTranslator {
  private readonly blocks: BlockWriter;
  private readonly calls = new StreamedCalls();
  private started = false;
  private over = false;
  private finishReason = "";
  private matched = "";
  private refusal = "";
  private readonly usage = new Usage();

  constructor(
    private readonly context: MessagesContext,
    private readonly client: ClientStream,
    private readonly random: RandomText = randomText,
  ) {
    this.usage.cachedBeside = context.cachedBeside;
    this.blocks = new BlockWriter((event) => this.write(event, "event"), context, random);
  }

  event(event: UpstreamEvent): void {
    const data = event.data;
    if (this.over || data === "") return;
    if (data.startsWith("[DONE]")) {
      this.complete();
      return;
    }
    const chunk = parseJson(data);
    if (event.type === "error" || (isObject(chunk) && chunk["error"])) {
      this.fail(chatErrorIn200(isObject(chunk) ? chunk : {}));
    } else if (isObject(chunk)) {
      this.chunk(chunk, event.kind !== "data");
    } else if (chunk === undefined && (event.type === undefined || event.type === "message")) {
      // Events with a name are server extensions. Only an event without a name must be a chunk.
      this.fail(brokenForMessages(MALFORMED));
    }
  }

  end(how: End): void {
    if (this.over) return;
    if (how === "eof" && this.finishReason !== "") this.complete();
    else this.fail(brokenForMessages(TRUNCATED));
  }

  /** Reads a whole reply: a stream of one chunk. */
  whole(body: unknown): void {
    const reply = objectOf(body) ?? {};
    const choice = firstChoice(reply["choices"]);
    if (!choice) {
      this.fail(reply["error"] ? chatErrorIn200(reply) : brokenForMessages(UNREADABLE));
      return;
    }
    const message = objectOf(choice["message"]) ?? {};
    const calls = arrayOf(message["tool_calls"]).filter(isObject);
    // Two calls may have one id, and one without id or arguments would wait for the end.
    const tool_calls = calls.map((call, index) => ({
      ...call,
      ...{ index, id: stringOf(call["id"]) || toMessagesToolId("", this.random) },
    }));
    const delta: Record<string, unknown> = { ...message, tool_calls };
    if (!isBlank(textOf(message["content"]))) {
      this.refusal = stringOf(message["refusal"]);
      delta["refusal"] = undefined;
    }
    const error = objectOf(choice["error"]) ?? reply["error"];
    this.chunk({ ...reply, choices: [{ ...choice, error, delta }] }, true);
    if (!this.over) this.complete();
  }

  private chunk(chunk: JsonObject, mayReport: boolean): void {
    // Reading the report in all its places takes a third of the time of a chunk.
    if (mayReport) readUsage("chat", chunk, this.usage);
    const choice = firstChoice(chunk["choices"]);
    if (!choice) return;
    const reason = stringOf(choice["finish_reason"]);
    if (this.finishReason === "" && isFailure(reason)) {
      // Ignores the content of the failing chunk. Earlier chunks have already been sent.
      this.fail(choice["error"] ? chatErrorIn200(choice) : endedBy(reason));
      return;
    }
    if (!this.started) this.start(chunk["id"]);
    this.delta(objectOf(choice["delta"]) ?? {});
    // Only stores the reason, because usage usually follows it.
    if (reason !== "null") this.finishReason ||= reason;
    this.matched ||= matchedStop(choice);
    if (this.blocks.overfull) this.fail(brokenForMessages(OVERSIZED));
  }

  private start(id: unknown): void {
    this.started = true;
    const message: MessagesAnswer = {
      id: toMessageId(id, this.random),
      type: "message",
      role: "assistant",
      model: this.context.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: startUsage(this.usage, this.client),
    };
    this.write({ type: "message_start", message }, "usage");
  }

  private delta(delta: JsonObject): void {
    for (const thought of thoughtsOf(delta)) this.blocks.thought(thought);
    this.blocks.text(textOf(delta["content"]));
    const refusal = stringOf(delta["refusal"]);
    if (refusal !== "" && this.refusal === "") this.blocks.endText();
    if (this.refusal.length < REFUSAL_CHARS_MAX) this.refusal += refusal;
    this.blocks.refusal(refusal);
    for (const item of arrayOf(delta["tool_calls"])) {
      if (!isObject(item)) continue;
      const { name, args } = functionOf(item);
      const text = argumentsText(args);
      const call = this.calls.find(item["index"], stringOf(item["id"]), name, text);
      this.callDelta(call, name, text, thoughtSignatureOf(item));
    }
    const legacy = objectOf(delta["function_call"]);
    if (!legacy) return;
    const text = argumentsText(legacy["arguments"]);
    this.callDelta(this.calls.legacy(), stringOf(legacy["name"]), text);
  }

  private callDelta(
    call: StreamedCall | undefined,
    name: string,
    args: string,
    signature = "",
  ): void {
    if (call === undefined) {
      this.blocks.overfull = true;
      return;
    }
    // Some servers repeat the name in every delta.
    call.name ||= name;
    this.blocks.call(call, args, signature);
  }

  private complete(): void {
    if (!this.started) {
      this.fail(brokenForMessages(TRUNCATED));
      return;
    }
    this.blocks.finish(this.calls.waiting());
    if (isLost(this.finishReason, this.blocks.hasContent)) {
      this.fail(endedBy(this.finishReason));
      return;
    }
    const stop = stopOf({
      finishReason: this.finishReason,
      called: this.blocks.called,
      isCallCut: this.blocks.isCallCut,
      refusal: this.refusal,
      marksRefusals: this.context.marksRefusals === true,
      matched: this.matched,
    });
    const usage = toMessagesUsage(this.usage);
    this.write({ type: "message_delta", delta: stop, usage }, "usage");
    this.over = true;
    this.write({ type: "message_stop" }, "terminal");
  }

  private fail(reply: Reply<MessagesError>): void {
    this.over = true;
    if (this.started) this.write(reply.body, "error");
    else this.client.refuse(reply.status, reply.body);
  }

  private write(event: MessagesEvent, mark: Mark): void {
    if (this.client.take) this.client.take(event);
    else this.client.write(encodeEvent(event.type, eventText(event)), mark);
  }
}
