import type { JsonObject } from "../../../../core/plugin/index.ts";
import { argumentsOf } from "../../arguments.ts";
import { originalName } from "../../names.ts";
import { WAITING_CHARS_MAX } from "../../stream.ts";
import type { ChatDelta, ToolCallDelta } from "../../types.ts";
import type { ChatContext } from "../read/request.ts";
import { customInputOfText } from "./answer.ts";

/** The kind of item that the client gets for a block. Blocks of server tools are hidden. */
type Kind = "text" | "refusal" | "thinking" | "call" | "custom" | "hidden";

/** An open block. Keeps only text that the client must get in one piece. */
class Block {
  signature = "";
  hasArguments = false;
  kept: string[] = [];
  /** True for a call of a custom tool that the client knows as one of a function. */
  isFlat = false;

  constructor(
    readonly kind: Kind,
    /** Index of a call among the calls of the reply, -1 for other blocks. */
    readonly call: number,
    readonly input: unknown,
  ) {}
}

/** Converts the blocks of a Messages stream to deltas. The index alone identifies a block. */
export class BlockReader {
  /** Number of calls that the client has to run. */
  calls = 0;
  /** True if a refusal was written. */
  refused = false;
  /** True if the open blocks keep more than `WAITING_CHARS_MAX`. */
  overfull = false;
  private readonly open = new Map<unknown, Block>();
  private keptChars = 0;

  constructor(
    private readonly context: ChatContext,
    private readonly write: (delta: ChatDelta) => void,
  ) {}

  start(index: unknown, content: JsonObject): void {
    this.stop(index);
    const kind = this.kindOf(content);
    const isCall = kind === "call" || kind === "custom";
    const block = new Block(kind, isCall ? this.calls : -1, content["input"]);
    this.open.set(index, block);
    switch (kind) {
      case "text":
        this.text(content["text"]);
        return;
      case "refusal":
        this.refusal(content["text"]);
        return;
      case "thinking":
        this.thinking(block, content["thinking"]);
        this.sign(block, content["signature"]);
        return;
      case "call":
      case "custom":
        this.calls += 1;
        this.write({ tool_calls: [this.callStart(block, content)] });
        return;
      case "hidden":
        if (content["type"] === "redacted_thinking") this.write({ thinking_blocks: [content] });
        return;
    }
  }

  delta(index: unknown, delta: JsonObject): void {
    const block = this.open.get(index);
    switch (delta["type"]) {
      case "text_delta":
        // Accepts text without a block start. Hides text inside of a hidden block.
        if (block === undefined || block.kind === "text") this.text(delta["text"]);
        else if (block.kind === "refusal") this.refusal(delta["text"]);
        return;
      case "thinking_delta":
        if (block?.kind === "thinking") this.thinking(block, delta["thinking"]);
        return;
      case "signature_delta":
        if (block?.kind === "thinking") this.sign(block, delta["signature"]);
        return;
      case "input_json_delta":
        if (block) this.arguments(block, delta["partial_json"]);
        return;
    }
  }

  stop(index: unknown): void {
    const block = this.open.get(index);
    if (!block) return;
    this.open.delete(index);
    if (block.kind === "thinking" && block.signature !== "") {
      const thinking = block.kept.join("");
      const { signature } = block;
      this.write({ thinking_blocks: [{ type: "thinking", thinking, signature }] });
    } else if (block.kind === "custom") {
      const args = block.hasArguments ? block.kept.join("") : argumentsOf(block.input);
      const input = args === "{}" ? "" : customInputOfText(args);
      const call = block.isFlat ? { function: { arguments: input } } : { custom: { input } };
      this.write({ tool_calls: [{ index: block.call, ...call }] });
    } else if (block.kind === "call" && !block.hasArguments) {
      // Without argument deltas, the start of the block has the whole input.
      this.write(argumentsDelta(block, argumentsOf(block.input)));
    }
    for (const piece of block.kept) this.keptChars -= piece.length;
  }

  /** Closes the blocks that the upstream left open at the end of the message. */
  finish(): void {
    for (const index of [...this.open.keys()]) this.stop(index);
  }

  private kindOf(content: JsonObject): Kind {
    switch (content["type"]) {
      case "text":
        return content["refusal"] === true ? "refusal" : "text";
      case "thinking":
        return "thinking";
      case "tool_use":
        return this.context.customTools.has(this.nameOf(content)) ? "custom" : "call";
      default:
        return "hidden";
    }
  }

  private callStart(block: Block, content: JsonObject): ToolCallDelta {
    const id = typeof content["id"] === "string" ? content["id"] : "";
    const name = this.nameOf(content);
    const index = block.call;
    block.isFlat = this.context.flatCustomTools.has(name);
    return block.kind === "custom" && !block.isFlat
      ? { index, id, type: "custom", custom: { name, input: "" } }
      : { index, id, type: "function", function: { name, arguments: "" } };
  }

  private nameOf(content: JsonObject): string {
    const name = content["name"];
    return originalName(this.context.toolNames, typeof name === "string" ? name : "");
  }

  private text(text: unknown): void {
    if (typeof text === "string" && text !== "") this.write({ content: text });
  }

  private refusal(text: unknown): void {
    this.refused = true;
    if (typeof text === "string" && text !== "") this.write({ refusal: text });
  }

  private thinking(block: Block, thinking: unknown): void {
    if (typeof thinking !== "string" || thinking === "") return;
    this.write({ reasoning_content: thinking });
    this.keep(block, thinking);
  }

  private sign(block: Block, signature: unknown): void {
    if (typeof signature === "string") block.signature += signature;
  }

  private arguments(block: Block, args: unknown): void {
    if (typeof args !== "string" || args === "") return;
    block.hasArguments = true;
    if (block.kind === "call") this.write(argumentsDelta(block, args));
    else if (block.kind === "custom") this.keep(block, args);
  }

  private keep(block: Block, piece: string): void {
    block.kept.push(piece);
    this.keptChars += piece.length;
    if (this.keptChars > WAITING_CHARS_MAX) this.overfull = true;
  }
}

function argumentsDelta(block: Block, args: string): ChatDelta {
  return { tool_calls: [{ index: block.call, function: { arguments: args } }] };
}
