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
import { argumentsText } from "../../arguments.ts";
import type { MessagesContext } from "../../chat/write/request.ts";
import {
  brokenForMessages,
  chatErrorIn200,
  MALFORMED,
  OVERSIZED,
  type Reply,
  TRUNCATED,
  UNREADABLE,
} from "../../errors.ts";
import { type RandomText, randomText, toMessageId } from "../../ids.ts";
import { BlockWriter } from "../../messages/blocks.ts";
import { StreamedCalls } from "../../messages/calls.ts";
import { REFUSAL_CHARS_MAX, stopOf } from "../../messages/ending.ts";
import { eventText } from "../../messages/events.ts";
import { gathered } from "../../messages/gatherer.ts";
import type { ClientStream, Mark, StreamTranslator, UpstreamEvent } from "../../stream.ts";
import type { MessagesError, MessagesEvent } from "../../types.ts";
import { startUsage, toMessagesUsage } from "../../usage.ts";
import { MessageTexts } from "./texts.ts";

/** Translates a whole reply of a Responses upstream, with status 200, for a Messages client. */
export function responsesToMessages(
  body: unknown,
  context: MessagesContext,
  random: RandomText = randomText,
): Reply<object> {
  return gathered((client) => new ResponsesToMessagesStream(context, client, random).whole(body));
}

/** Translates the stream of a Responses upstream for a Messages client. */
export class ResponsesToMessagesStream implements StreamTranslator {
  private readonly blocks: BlockWriter;
  private readonly texts: MessageTexts;
  private readonly calls = new StreamedCalls();
  private readonly usage = new Usage();
  private started = false;
  private over = false;
  private refusal = "";
  /** The reasoning of the item that is being written. */
  private thinking: string[] = [];
  /** The parts of messages whose text was written, as `ITEM/PART`, and the items that are whole. */
  private readonly parts = new Set<string>();
  private readonly items = new Set<unknown>();
  /** Place of the item that is open, for servers that do not repeat it. */
  private place: unknown = undefined;

  constructor(
    private readonly context: MessagesContext,
    private readonly client: ClientStream,
    private readonly random: RandomText = randomText,
  ) {
    this.usage.cachedBeside = context.cachedBeside;
    this.blocks = new BlockWriter((event) => this.write(event, "event"), context, random);
    this.texts = new MessageTexts(this.blocks, context);
  }

  event({ data, type }: UpstreamEvent): void {
    if (this.over || data === "" || data.startsWith("[DONE]")) return;
    const event = parseJson(data);
    if (isObject(event)) this.take(event, type);
    else if (event === undefined) this.fail(brokenForMessages(MALFORMED));
    if (this.blocks.overfull && !this.over) this.fail(brokenForMessages(OVERSIZED));
  }

  /** A response ends with an event of its own. */
  end(): void {
    if (!this.over) this.fail(brokenForMessages(TRUNCATED));
  }

  /** Reads a whole reply: a stream that brings each item at once. */
  whole(body: unknown): void {
    const { error, output } = objectOf(body) ?? {};
    if (!isObject(body) || isObject(error) || !Array.isArray(output)) {
      this.fail(isObject(error) ? chatErrorIn200({ error }) : brokenForMessages(UNREADABLE));
      return;
    }
    this.start(body);
    for (const [at, item] of output.entries()) {
      if (!isObject(item)) continue;
      this.openItem({ output_index: at }, item);
      this.closeItem({ output_index: at }, item);
    }
    if (this.blocks.overfull) this.fail(brokenForMessages(OVERSIZED));
    else this.complete(body);
  }

  private take(event: JsonObject, name: string | undefined): void {
    const { delta } = event;
    switch (event["type"] ?? name) {
      case "response.output_text.delta":
        this.parts.add(this.partOf(event));
        if (typeof delta === "string") this.texts.add(this.placeOf(event), delta);
        return;
      case "response.output_text.done":
      case "response.refusal.done":
        this.writePart(this.partOf(event), event);
        return;
      case "response.content_part.done":
        this.writePart(this.partOf(event), objectOf(event["part"]) ?? {});
        return;
      case "response.function_call_arguments.delta":
        if (typeof delta === "string") this.callDelta(event, delta);
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        if (typeof delta === "string") this.think(delta);
        return;
      case "response.reasoning_summary_part.added":
        if (this.thinking.length > 0) this.think("\n\n");
        return;
      case "response.refusal.delta":
        this.parts.add(this.partOf(event));
        if (typeof delta === "string") this.refuse(this.placeOf(event), delta);
        return;
      case "response.output_item.added":
        this.openItem(event, objectOf(event["item"]) ?? {});
        return;
      case "response.output_item.done":
        this.closeItem(event, objectOf(event["item"]) ?? {});
        return;
      case "response.created":
      case "response.in_progress":
        this.start(objectOf(event["response"]) ?? {});
        return;
      case "response.completed":
      case "response.incomplete":
        this.complete(objectOf(event["response"]) ?? {});
        return;
      case "response.failed":
        this.fail(chatErrorIn200(objectOf(event["response"]) ?? {}));
        return;
      case "error":
        this.fail(chatErrorIn200(event));
    }
  }

  private start(response: JsonObject): void {
    readUsage("responses", response, this.usage);
    if (this.started) return;
    this.started = true;
    const message = {
      ...({ id: toMessageId(response["id"], this.random), type: "message" } as const),
      ...({ role: "assistant", model: this.context.model, content: [] } as const),
      ...{ stop_reason: null, stop_sequence: null, usage: startUsage(this.usage, this.client) },
    };
    this.write({ type: "message_start", message: { ...message, content: [] } }, "usage");
  }

  private openItem(event: JsonObject, item: JsonObject): void {
    this.start({});
    this.place = event["output_index"];
    if (item["type"] === "function_call") this.callDelta(event, "", item);
    else if (item["type"] === "message") this.texts.begin(this.placeOf(event), item["phase"]);
  }

  /** The last form of an item has its state, and all parts that no delta brought. */
  private closeItem(event: JsonObject, item: JsonObject): void {
    const place = event["output_index"] ?? this.place;
    this.items.add(place);
    switch (item["type"]) {
      case "reasoning":
        this.closeReasoning(item);
        return;
      case "function_call": {
        const call = this.call(event, item);
        if (call && !call.hasArguments) this.callDelta(event, argumentsText(item["arguments"]));
        return;
      }
      case "message":
        this.texts.begin(String(place), item["phase"]);
        for (const [at, part] of arrayOf(item["content"]).entries()) {
          if (isObject(part)) this.writePart(`${String(place)}/${at}`, part);
        }
    }
  }

  private placeOf(event: JsonObject): string {
    return String(event["output_index"] ?? this.place);
  }

  private partOf(event: JsonObject): string {
    return `${this.placeOf(event)}/${String(event["content_index"] ?? 0)}`;
  }

  /** Writes a part that no delta brought: some servers send only the whole. */
  private writePart(part: string, { text, refusal }: JsonObject): void {
    if (this.parts.has(part)) return;
    this.parts.add(part);
    const [place = ""] = part.split("/");
    if (typeof text === "string") this.texts.add(place, text);
    if (typeof refusal === "string") this.refuse(place, refusal);
  }

  /** Writes the items that only the whole response has. Without places of its own, what came before is all. */
  private closeItems(output: readonly unknown[]): void {
    const places = [...this.items, ...Array.from(this.parts, (part) => part.split("/")[0])];
    if (places.includes(undefined) || places.includes("undefined")) return;
    for (const [at, item] of output.entries()) {
      if (!isObject(item) || this.items.has(at)) continue;
      // State that comes behind other blocks has no place any more.
      const isLate = item["type"] === "reasoning" && this.blocks.hasContent;
      if (!isLate) this.closeItem({ output_index: at }, item);
    }
  }

  private closeReasoning(item: JsonObject): void {
    if (this.thinking.length === 0) {
      const whole = thinkingOf(item);
      if (whole !== "") this.think(whole);
    }
    const { encrypted_content: given } = item;
    const state = typeof given === "string" ? given : "";
    const text = this.thinking.join("");
    this.thinking = [];
    if (!this.context.state) return;
    // Without state of its own too, as the next item is another block; one that ended before was signed then.
    if (state === "" && (text === "" || !this.blocks.isThinking)) return;
    const signature = this.context.state.pack(state, text);
    this.blocks.thought({ type: "thinking", thinking: "", signature });
  }

  private think(thinking: string): void {
    this.thinking.push(thinking);
    this.blocks.thought({ type: "thinking", thinking, signature: "" });
  }

  private refuse(place: string, text: string): void {
    if (this.refusal.length < REFUSAL_CHARS_MAX) this.refusal += text;
    this.texts.refuse(place, text);
  }

  private callDelta(event: JsonObject, args: string, item?: JsonObject): void {
    this.texts.release();
    const call = this.call(event, item ?? {});
    if (call) this.blocks.call(call, args);
    else this.blocks.overfull = true;
  }

  private call(event: JsonObject, item: JsonObject) {
    const { call_id: id, name } = item;
    const own = typeof id === "string" ? id : "";
    const call = this.calls.find(event["output_index"], own, "");
    if (call && typeof name === "string") call.name ||= name;
    return call;
  }

  private complete(response: JsonObject): void {
    this.start(response);
    this.closeItems(arrayOf(response["output"]));
    this.texts.release();
    this.blocks.finish(this.calls.waiting());
    const stop = stopOf({
      finishReason: finishReasonOf(response),
      called: this.blocks.called,
      isCallCut: this.blocks.isCallCut,
      refusal: this.refusal,
      marksRefusals: this.context.marksRefusals === true,
      matched: "",
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

/** Returns why a response is incomplete, as Chat names it; empty for a complete one. */
function finishReasonOf(response: JsonObject): string {
  if (response["status"] !== "incomplete") return "";
  const reason = objectOf(response["incomplete_details"])?.["reason"];
  return reason === "content_filter" ? "content_filter" : "length";
}

/** Returns the reasoning of an item, as far as the provider shows it. */
function thinkingOf(item: JsonObject): string {
  const parts = [...arrayOf(item["summary"]), ...arrayOf(item["content"])].filter(isObject);
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("\n\n");
}
