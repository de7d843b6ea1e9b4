import { isObject, type JsonObject, objectOf, parseJson } from "../../../../core/plugin/index.ts";
import { argumentsOf } from "../../arguments.ts";
import type { RandomText } from "../../ids.ts";
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

/** The facilities that an item uses to write itself. */
interface Writing {
  readonly context: ResponsesContext;
  readonly random: RandomText;
  write(type: string, fields: JsonObject): void;
}

/** A block of a Messages stream that is written as an output item, event by event. */
export abstract class OpenItem {
  protected constructor(
    protected readonly id: string,
    private readonly at: number,
    private readonly writing: Writing,
  ) {}

  /** Opens the item of a block at a place of the output. Undefined for a block that has none. */
  static of(block: JsonObject, at: number, writing: Writing): OpenItem | undefined {
    switch (block["type"]) {
      case "text":
        return new OpenMessage(block, at, writing);
      case "thinking":
      case "redacted_thinking":
        return new OpenReasoning(block, at, writing);
      case "tool_use":
        return new OpenCall(block, at, writing);
      case "compaction":
        return new OpenCompaction(block, at, writing);
      default:
        return undefined;
    }
  }

  /** Takes a delta of the block. */
  abstract delta(delta: JsonObject): void;

  /** Writes the end of the item and returns it. `isCut`: the limit of tokens has ended the reply here. */
  abstract close(isCut: boolean): JsonObject;

  /** True if the item is whole at the end of its block, however the reply ends. */
  get isWhole(): boolean {
    return true;
  }

  protected write(type: string, fields: JsonObject): void {
    this.writing.write(type, { item_id: this.id, output_index: this.at, ...fields });
  }

  protected added(item: JsonObject): void {
    this.writing.write("response.output_item.added", { output_index: this.at, item });
  }

  protected done(item: JsonObject): JsonObject {
    this.writing.write("response.output_item.done", { output_index: this.at, item });
    return item;
  }
}

class OpenMessage extends OpenItem {
  private readonly isRefusal: boolean;
  private readonly texts: string[] = [];

  constructor(block: JsonObject, at: number, writing: Writing) {
    super(`msg_${writing.random(24)}`, at, writing);
    this.isRefusal = isRefusal(block);
    const part = partOf("", this.isRefusal);
    this.added({ ...messageItem(this.id, part, "in_progress"), content: [] });
    this.write("response.content_part.added", { content_index: 0, part });
    this.delta({ text: String(block["text"] ?? "") });
  }

  delta({ text }: JsonObject): void {
    if (typeof text !== "string" || text === "") return;
    this.texts.push(text);
    if (this.isRefusal) this.write("response.refusal.delta", { content_index: 0, delta: text });
    else this.write("response.output_text.delta", { content_index: 0, delta: text, logprobs: [] });
  }

  override get isWhole(): boolean {
    return this.isRefusal;
  }

  close(isCut: boolean): JsonObject {
    const text = this.texts.join("");
    if (this.isRefusal) this.write("response.refusal.done", { content_index: 0, refusal: text });
    else this.write("response.output_text.done", { content_index: 0, text, logprobs: [] });
    const part = partOf(text, this.isRefusal);
    this.write("response.content_part.done", { content_index: 0, part });
    return this.done(messageItem(this.id, part, statusOf(isCut && !this.isWhole)));
  }
}

class OpenReasoning extends OpenItem {
  private readonly isShown: boolean;
  private readonly texts: string[] = [];
  private signature = "";

  constructor(
    private readonly block: JsonObject,
    at: number,
    writing: Writing,
  ) {
    super(`rs_${writing.random(24)}`, at, writing);
    this.isShown = writing.context.showsReasoning;
    this.added({ id: this.id, type: "reasoning", summary: [], encrypted_content: null });
    this.delta(block);
  }

  delta({ thinking, signature }: JsonObject): void {
    if (typeof signature === "string") this.signature += signature;
    if (typeof thinking !== "string" || thinking === "") return;
    if (this.isShown && this.texts.length === 0) {
      const part = { type: "summary_text", text: "" };
      this.write("response.reasoning_summary_part.added", { summary_index: 0, part });
    }
    this.texts.push(thinking);
    if (!this.isShown) return;
    const delta = { summary_index: 0, delta: thinking };
    this.write("response.reasoning_summary_text.delta", delta);
  }

  close(): JsonObject {
    const thinking = this.texts.join("");
    if (this.isShown && thinking !== "") {
      const part = { type: "summary_text", text: thinking };
      const done = { summary_index: 0, text: thinking };
      this.write("response.reasoning_summary_text.done", done);
      this.write("response.reasoning_summary_part.done", { summary_index: 0, part });
    }
    const { signature } = this;
    return this.done(reasoningItem(this.id, { ...this.block, thinking, signature }, this.isShown));
  }
}

/** It comes whole. */
class OpenCompaction extends OpenItem {
  private readonly item: JsonObject;

  constructor(block: JsonObject, at: number, writing: Writing) {
    const item = compactionItem(block, writing.random);
    super(String(item["id"]), at, writing);
    this.item = item;
    this.added(item);
  }

  delta(): void {}

  close(): JsonObject {
    return this.done(this.item);
  }
}

export class OpenCall extends OpenItem {
  private readonly item: JsonObject;
  private readonly finished: (args: string, status: string) => JsonObject;
  private readonly isCustom: boolean;
  /** Some servers write the whole input here, and no deltas. */
  private readonly input: JsonObject;
  private readonly pieces: string[] = [];

  constructor(block: JsonObject, at: number, writing: Writing) {
    const { context, random } = writing;
    const tool = originalTool(context.tools, String(block["name"] ?? ""));
    const item = callItem(tool, block["id"], "", random, "in_progress");
    super(String(item["id"]), at, writing);
    this.item = item;
    this.input = objectOf(block["input"]) ?? {};
    this.isCustom = tool.custom;
    this.finished = (args, status) => {
      const { id, call_id } = item;
      return { ...callItem(tool, call_id, args, random, status), id, call_id };
    };
    this.added(item);
  }

  delta({ partial_json: piece }: JsonObject): void {
    if (typeof piece !== "string" || piece === "") return;
    this.pieces.push(piece);
    // The text of a custom tool stands inside the JSON, so it is read at the end.
    if (!this.isCustom) this.write("response.function_call_arguments.delta", { delta: piece });
  }

  override get isWhole(): boolean {
    if (this.pieces.length === 0) return Object.keys(this.input).length > 0;
    return isObject(parseJson(this.pieces.join("")));
  }

  close(isCut: boolean): JsonObject {
    const isIncomplete = isCut && !this.isWhole;
    if (this.pieces.length === 0 && !isIncomplete) {
      this.delta({ partial_json: argumentsOf(this.input) });
    }
    const item = this.finished(this.pieces.join(""), statusOf(isIncomplete));
    if (this.isCustom) {
      const { input } = item;
      this.write("response.custom_tool_call_input.delta", { delta: input });
      this.write("response.custom_tool_call_input.done", { input });
    } else {
      const done = { name: this.item["name"], arguments: item["arguments"] };
      this.write("response.function_call_arguments.done", done);
    }
    return this.done(item);
  }
}
