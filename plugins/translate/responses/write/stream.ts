import {
  encodeComment,
  encodeEvent,
  isObject,
  type JsonObject,
  objectOf,
  parseJson,
  readUsage,
} from "../../../../core/plugin/index.ts";
import { explanationOf } from "../../chat/write/answer.ts";
import {
  brokenForChat,
  MALFORMED,
  messagesErrorToChat,
  type Reply,
  TRUNCATED,
} from "../../errors.ts";
import { type RandomText, randomText } from "../../ids.ts";
import type { ClientStream, End, Mark, StreamTranslator, UpstreamEvent } from "../../stream.ts";
import type { ChatError } from "../../types.ts";
import type { ResponsesContext } from "../read/request.ts";
import { isRefusal } from "./items.ts";
import { OpenCall, OpenItem } from "./open-item.ts";
import { ResponseObject } from "./response.ts";

/** Translates the stream of a Messages upstream for a Responses client. */
export class MessagesToResponsesStream implements StreamTranslator {
  private readonly response: ResponseObject;
  private sequence = 0;
  private started = false;
  private over = false;
  /** The block that is being written. A Messages stream has only one open block at a time. */
  private open: OpenItem | undefined = undefined;
  /** True if the block has ended, but only the end of the reply says whether the limit of tokens has cut it. */
  private isEnded = false;
  /** Why the model refuses; null if it does not say. */
  private explanation: string | null = null;
  /** True if the refusal was written as it came. */
  private refused = false;

  /** `nowMs`: creation time of the reply in milliseconds since the Unix epoch. */
  constructor(
    private readonly context: ResponsesContext,
    private readonly client: ClientStream,
    nowMs: number,
    private readonly random: RandomText = randomText,
  ) {
    this.response = new ResponseObject(context, nowMs, random);
  }

  event({ data, type }: UpstreamEvent): void {
    if (this.over || data === "" || data.startsWith("[DONE]")) return;
    const event = parseJson(data);
    if (isObject(event)) this.take(event, type);
    else if (event === undefined) this.fail(brokenForChat(MALFORMED, null));
  }

  /** Takes a parsed event of Messages. */
  take(event: JsonObject, name?: string): void {
    if (this.over) return;
    switch (event["type"] ?? name) {
      case "message_start":
        readUsage("messages", event, this.response.usage);
        this.start();
        return;
      case "content_block_start":
        this.start();
        this.closeItem();
        this.openItem(objectOf(event["content_block"]) ?? {});
        return;
      case "content_block_delta":
        this.open?.delta(objectOf(event["delta"]) ?? {});
        return;
      case "content_block_stop":
        if (this.open?.isWhole) this.closeItem();
        else this.isEnded = this.open !== undefined;
        return;
      case "message_delta": {
        readUsage("messages", event, this.response.usage);
        const delta = objectOf(event["delta"]);
        const reason = delta?.["stop_reason"];
        if (typeof reason === "string") this.response.stopReason = reason;
        this.explanation ??= explanationOf(this.response.stopReason, delta?.["stop_details"]);
        return;
      }
      case "message_stop":
        this.complete();
        return;
      case "ping":
        this.ping();
        return;
      case "error":
        this.fail(messagesErrorToChat(200, event));
    }
  }

  end(how: End): void {
    if (this.over) return;
    if (how === "eof" && this.response.stopReason !== "") this.complete();
    else this.fail(brokenForChat(TRUNCATED, "upstream_truncated"));
  }

  private ping(): void {
    // Many clients end at an event that they do not know. Core writes events to those that count them: to it, a stream of
    // comments is silent.
    if (this.started) this.client.write(encodeComment("ping"), "comment");
  }

  /** Ends the stream with an error: the whole reply, if nothing was written. */
  fail({ status, body }: Reply<ChatError>): void {
    this.over = true;
    if (this.isEnded && !(this.open instanceof OpenCall)) this.closeItem();
    if (!this.started) {
      this.client.refuse(status, body);
      return;
    }
    const { message, param } = body.error;
    // An error of Messages has no code, also if it comes from a translation of Chat.
    const known = message === TRUNCATED ? "upstream_truncated" : body.error.code;
    const code = known ?? "server_error";
    this.write("error", { code, message, param, error: { ...body.error, code } });
    const response = this.response.failed(code, message);
    this.write("response.failed", { response }, "error");
  }

  private start(): void {
    if (this.started) return;
    this.started = true;
    const response = this.response.opening();
    this.write("response.created", { response });
    this.write("response.in_progress", { response });
  }

  private openItem(block: JsonObject): void {
    const at = this.response.output.length;
    const write = (type: string, fields: JsonObject) => this.write(type, fields);
    this.open = OpenItem.of(block, at, { context: this.context, random: this.random, write });
    if (isRefusal(block)) this.refused = true;
  }

  private closeItem(isCut = false): void {
    const item = this.open?.close(isCut);
    if (item) this.response.output.push(item);
    this.open = undefined;
    this.isEnded = false;
  }

  private complete(): void {
    if (!this.started) {
      this.fail(brokenForChat(TRUNCATED, "upstream_truncated"));
      return;
    }
    this.closeItem(this.response.isCut);
    if (this.explanation !== null && !this.refused) {
      this.openItem({ type: "text", text: this.explanation, refusal: true });
      this.closeItem();
    }
    this.over = true;
    const response = this.response.ended();
    this.write(`response.${String(response["status"])}`, { response }, "terminal");
  }

  private write(type: string, fields: JsonObject, mark: Mark = "event"): void {
    const event = { type, sequence_number: this.sequence++, ...fields };
    this.client.write(encodeEvent(type, JSON.stringify(event)), mark);
  }
}
