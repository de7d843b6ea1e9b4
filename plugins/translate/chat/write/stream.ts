import {
  encodeComment,
  isObject,
  type JsonObject,
  objectOf,
  parseJson,
  readUsage,
  Usage,
} from "../../../../core/plugin/index.ts";
import {
  brokenForChat,
  MALFORMED,
  messagesErrorToChat,
  OVERSIZED,
  type Reply,
  TRUNCATED,
} from "../../errors.ts";
import { type RandomText, randomText, toCompletionId } from "../../ids.ts";
import type { ClientStream, End, StreamTranslator, UpstreamEvent } from "../../stream.ts";
import type { ChatDelta, ChatError } from "../../types.ts";
import { toChatUsage } from "../../usage.ts";
import type { ChatContext } from "../read/request.ts";
import { explanationOf, finishReasonOf, legacyReason } from "./answer.ts";
import { BlockReader } from "./blocks.ts";
import { ChunkWriter, DONE, errorChunk } from "./chunks.ts";

/** Translates the stream of a Messages upstream for a Chat client. */
export class MessagesToChatStream implements StreamTranslator {
  private readonly created: number;
  private readonly blocks: BlockReader;
  private readonly usage = new Usage();
  /** Undefined until the first chunk. Until then an error can be the whole reply. */
  private chunks: ChunkWriter | undefined = undefined;
  private over = false;
  private stopReason = "";
  private stopDetails: unknown = undefined;

  /** `nowMs`: creation time of the reply in milliseconds since the Unix epoch. */
  constructor(
    private readonly context: ChatContext,
    private readonly client: ClientStream,
    nowMs: number,
    private readonly random: RandomText = randomText,
  ) {
    this.created = Math.floor(nowMs / 1000);
    this.blocks = new BlockReader(context, (delta) => this.write(legacyDelta(delta, context)));
  }

  event(event: UpstreamEvent): void {
    const text = event.data;
    if (this.over || text === "" || text.startsWith("[DONE]")) return;
    const data = parseJson(text);
    if (isObject(data)) this.take(data, event.type);
    else if (data === undefined && isOurs(event.type)) this.fail(brokenForChat(MALFORMED, null));
  }

  end(how: End): void {
    if (this.over) return;
    if (how === "eof" && this.stopReason !== "") this.complete();
    else this.fail(brokenForChat(TRUNCATED, "upstream_truncated"));
  }

  private ping(): void {
    if (this.chunks && !this.over) this.client.write(encodeComment("ping"), "comment");
  }

  /** Takes an event of Messages that is parsed. */
  take(data: JsonObject, eventType?: string): void {
    if (this.over) return;
    switch (typeof data["type"] === "string" ? data["type"] : eventType) {
      case "message_start":
        readUsage("messages", data, this.usage);
        this.start(objectOf(data["message"]) ?? {});
        return;
      case "content_block_start":
        this.blocks.start(data["index"], objectOf(data["content_block"]) ?? {});
        break;
      case "content_block_delta":
        this.blocks.delta(data["index"], objectOf(data["delta"]) ?? {});
        break;
      case "content_block_stop":
        this.blocks.stop(data["index"]);
        break;
      case "message_delta":
        this.messageDelta(data);
        return;
      case "message_stop":
        this.complete();
        return;
      case "ping":
        this.ping();
        return;
      case "error":
        this.fail(messagesErrorToChat(200, data));
        return;
    }
    if (this.blocks.overfull) this.fail(brokenForChat(OVERSIZED, null));
  }

  private start(message: JsonObject): void {
    if (this.chunks) return;
    const id = toCompletionId(message["id"], this.random);
    const { model, includeUsage } = this.context;
    this.chunks = new ChunkWriter(id, this.created, model, includeUsage);
    this.write({ role: "assistant", content: "" });
  }

  private messageDelta(data: JsonObject): void {
    readUsage("messages", data, this.usage);
    const delta = objectOf(data["delta"]) ?? {};
    // A later event without a reason keeps the earlier one.
    if (typeof delta["stop_reason"] === "string") this.stopReason = delta["stop_reason"];
    if (isObject(delta["stop_details"])) this.stopDetails = delta["stop_details"];
  }

  private complete(): void {
    const { chunks } = this;
    if (!chunks) {
      this.fail(brokenForChat(TRUNCATED, "upstream_truncated"));
      return;
    }
    this.blocks.finish();
    const refusal = this.blocks.refused ? null : explanationOf(this.stopReason, this.stopDetails);
    if (refusal !== null) this.write({ refusal });
    const ended = finishReasonOf(this.stopReason, this.blocks.calls > 0);
    const reason = legacyReason(ended, this.context);
    this.client.write(chunks.finish(reason), "event");
    const usage = chunks.usage(toChatUsage(this.usage));
    if (usage !== "") this.client.write(usage, "usage");
    this.over = true;
    this.client.write(DONE, "terminal");
  }

  /** Ends the stream with an error: the whole reply, if nothing was written. */
  fail(reply: Reply<ChatError>): void {
    this.over = true;
    if (this.chunks) this.client.write(errorChunk(reply.body), "error");
    else this.client.refuse(reply.status, reply.body);
  }

  private write(delta: ChatDelta): void {
    // Some servers omit message_start, but the client's stream needs a first chunk.
    if (!this.chunks) this.start({});
    if (this.chunks) this.client.write(this.chunks.delta(delta), "event");
  }
}

/** Writes the first call in the form that clients of `functions` know. They have room for one. */
function legacyDelta(delta: ChatDelta, { isLegacy }: ChatContext): ChatDelta {
  if (!isLegacy || !delta.tool_calls) return delta;
  const { tool_calls: calls, ...rest } = delta;
  const [call] = calls.filter(({ index }) => index === 0);
  return call && "function" in call && call.function
    ? { ...rest, function_call: call.function }
    : rest;
}

/** Returns true if an event of this name must follow the protocol. Others are server extensions. */
function isOurs(type: string | undefined): boolean {
  return type === undefined || /^(message|content_block|error|ping)/.test(type);
}
