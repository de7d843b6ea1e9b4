import { isBlank } from "../arguments.ts";
import type { MessagesContext } from "../chat/write/request.ts";
import { type RandomText, toMessagesToolId } from "../ids.ts";
import { originalName } from "../names.ts";
import { WAITING_CHARS_MAX } from "../stream.ts";
import type { AnswerBlock, MessagesEvent } from "../types.ts";
import type { StreamedCall } from "./calls.ts";

/**
 * An item that waits until the JSON of the open call is whole. Consecutive texts share an item, and
 * so do thoughts.
 */
type Queued =
  | { texts: string[]; kind: TextKind }
  | { thoughts: Thought[] }
  | { call: StreamedCall };

/** A refusal is a text. Only clients of other protocols distinguish the two. */
type TextKind = "text" | "refusal";

/** The kind of the open block. Messages allows only one open block at a time. */
type Open = "none" | TextKind | "thinking" | StreamedCall;

export type Thought = Extract<AnswerBlock, { type: "thinking" | "redacted_thinking" }>;

type BlockContext = Pick<MessagesContext, "toolNames" | "state" | "marksRefusals">;

const THOUGHT_CHARS_MAX = 1024 * 1024;

/**
 * Writes the blocks of a Messages stream in order. Chat may mix the deltas of texts and several
 * calls. Streams the first call and queues everything after it until the JSON of that call is
 * whole.
 */
export class BlockWriter {
  /** True if at least one tool call was written. */
  called = false;
  /** True if the arguments of a call ended in the middle. */
  isCallCut = false;
  /** True if the queue grew beyond `WAITING_CHARS_MAX`. */
  overfull = false;
  private open: Open = "none";
  private index = -1;
  private signature = "";
  /** The unsigned text of the open block of thinking. */
  private unsigned: string[] = [];
  private unsignedChars = 0;
  private argumentsWritten = false;
  private queue: Queued[] = [];
  /** Index of the first queued item that is not written. */
  private queueHead = 0;
  private waitingChars = 0;
  /** White space at the beginning of a text. It is sent only with more of it: Claude refuses a block that has no more. */
  private blanks: string[] = [];
  private inText = false;

  constructor(
    private readonly write: (event: MessagesEvent) => void,
    private readonly context: BlockContext,
    private readonly random: RandomText,
  ) {}

  /** True if a block was written. */
  get hasContent(): boolean {
    return this.index >= 0;
  }

  /** True while a block of thinking is the last one. */
  get isThinking(): boolean {
    return this.open === "thinking";
  }

  text(piece: string): void {
    this.add(piece, "text");
  }

  /** Ends the text so far: more of it is a block of its own. White space alone is none. */
  endText(): void {
    this.blanks = [];
    this.inText = false;
  }

  refusal(piece: string): void {
    this.add(piece, this.context.marksRefusals ? "refusal" : "text");
  }

  private add(piece: string, kind: TextKind): void {
    if (piece === "") return;
    if (!this.inText && isBlank(piece)) {
      this.blanks.push(piece);
      this.count(piece.length);
      return;
    }
    const text = this.blanks.length > 0 ? this.blanks.join("") + piece : piece;
    const isNew = !this.inText;
    this.blanks = [];
    this.inText = true;
    if (!this.blocked) {
      this.writeText(text, kind, isNew);
      return;
    }
    this.count(text.length);
    const last = this.queue.at(-1);
    if (!isNew && last && "texts" in last && last.kind === kind) last.texts.push(text);
    else this.queue.push({ texts: [text], kind });
  }

  thought(thought: Thought): void {
    this.inText = false;
    if (!this.blocked) {
      this.writeThought(thought);
      return;
    }
    this.count(
      thought.type === "thinking"
        ? thought.thinking.length + thought.signature.length
        : thought.data.length,
    );
    const last = this.queue.at(-1);
    if (last && "thoughts" in last) last.thoughts.push(thought);
    else this.queue.push({ thoughts: [thought] });
  }

  /**
   * Adds arguments to a call, and starts its block as soon as the call is ready. `signature` is the
   * maker's state of the call, usually empty.
   */
  call(call: StreamedCall, args: string, signature = ""): void {
    // State that comes after the start of its call has no place any more.
    if (signature !== "" && (call.state === "waiting" || call.state === "queued")) {
      call.signature = signature;
      this.count(signature.length);
    }
    if (args !== "") this.arguments(call, args);
    if (call.state === "waiting" && call.ready) this.begin(call);
  }

  /**
   * Writes everything that still waits, including calls that never got an id. Call when the stream
   * is whole.
   */
  finish(waiting: readonly StreamedCall[]): void {
    for (const item of this.queue.slice(this.queueHead)) this.writeQueued(item);
    this.queue = [];
    for (const call of waiting) this.openCall(call);
    this.close();
  }

  private get blocked(): boolean {
    return typeof this.open === "object" && !this.open.scanner.complete;
  }

  private arguments(call: StreamedCall, given: string): void {
    call.hasArguments = true;
    const args = call.encoded.push(given);
    if (args === "") return this.count(given.length);
    // After a whole object only white space is valid. Some servers send the whole object again:
    // ignore it.
    if (call.state === "closed" || (call.scanner.complete && !isBlank(args))) return;
    call.scanner.push(args);
    if (call.state !== "open") {
      call.pending.push(args);
      this.count(args.length);
      return;
    }
    this.writeArguments(args);
    if (call.scanner.complete) this.writeQueue();
  }

  private begin(call: StreamedCall): void {
    this.endText();
    if (this.blocked) {
      call.state = "queued";
      this.queue.push({ call });
    } else {
      this.openCall(call);
    }
  }

  /**
   * Writes the queue up to the first call that is not whole, which stays open and continues to
   * stream.
   */
  private writeQueue(): void {
    let item = this.queue[this.queueHead];
    while (item !== undefined && !this.blocked) {
      this.writeQueued(item);
      this.queueHead += 1;
      item = this.queue[this.queueHead];
    }
    if (item !== undefined) return;
    this.queue = [];
    this.queueHead = 0;
    this.waitingChars = 0;
  }

  private writeQueued(item: Queued): void {
    if ("texts" in item) this.writeText(item.texts.join(""), item.kind, true);
    else if ("call" in item) this.openCall(item.call);
    else for (const thought of item.thoughts) this.writeThought(thought);
  }

  private writeText(text: string, kind: TextKind, isNew: boolean): void {
    if (isNew || this.open !== kind) {
      const marked = kind === "refusal" && ({ refusal: true } as const);
      this.start(kind, { type: "text", text: "", ...marked });
    }
    this.delta({ type: "text_delta", text });
  }

  private writeThought(thought: Thought): void {
    if (thought.type === "redacted_thinking") {
      this.start("thinking", thought);
      this.close();
      return;
    }
    const { thinking, signature } = thought;
    if (this.open === "thinking" && this.signature !== "") {
      // A signature ends its block. Ignore a repeated one.
      if (thinking === "" && signature === this.signature) return;
      this.close();
    }
    if (this.open !== "thinking") {
      this.start("thinking", { type: "thinking", thinking: "", signature: "" });
    }
    // Some servers repeat the whole thought together with its signature.
    const repeats = signature !== "" && this.unsigned.join("") === thinking;
    if (thinking !== "" && !repeats) this.delta({ type: "thinking_delta", thinking });
    if (signature === "") {
      this.rememberThought(thinking);
      return;
    }
    this.delta({ type: "signature_delta", signature });
    this.signature = signature;
  }

  /**
   * Keeps the text of a thought, to detect a repetition. Drops a text that exceeds
   * `THOUGHT_CHARS_MAX`.
   */
  private rememberThought(thinking: string): void {
    this.unsigned.push(thinking);
    this.unsignedChars += thinking.length;
    if (this.unsignedChars > THOUGHT_CHARS_MAX) this.unsigned = [];
  }

  private openCall(call: StreamedCall): void {
    this.writeState(call.signature);
    call.signature = "";
    this.start(call, {
      type: "tool_use",
      id: toMessagesToolId(call.id, this.random),
      name: originalName(this.context.toolNames, call.name),
      input: {},
    });
    this.called = true;
    call.state = "open";
    const args = call.pending.join("");
    call.pending = [];
    if (args !== "") this.writeArguments(args);
  }

  /**
   * Writes the state that the maker gave for a call in a thinking block of its own, right before
   * the call.
   */
  private writeState(state: string): void {
    if (state === "" || !this.context.state) return;
    const signature = this.context.state.pack(state, "");
    this.start("thinking", { type: "thinking", thinking: "", signature: "" });
    this.delta({ type: "signature_delta", signature });
    this.signature = signature;
  }

  private writeArguments(args: string): void {
    this.delta({ type: "input_json_delta", partial_json: args });
    this.argumentsWritten = true;
  }

  private start(open: Open, block: AnswerBlock): void {
    this.close();
    this.open = open;
    this.index += 1;
    this.write({ type: "content_block_start", index: this.index, content_block: block });
  }

  private delta(delta: Extract<MessagesEvent, { type: "content_block_delta" }>["delta"]): void {
    this.write({ type: "content_block_delta", index: this.index, delta });
  }

  private close(): void {
    if (this.open === "none") return;
    if (typeof this.open === "object") {
      const rest = this.open.encoded.rest();
      if (rest !== "") this.writeArguments(rest);
      // The real service sends one empty delta for a call without arguments.
      if (!this.argumentsWritten) this.writeArguments("");
      else if (!this.open.scanner.complete) this.isCallCut = true;
      this.open.state = "closed";
    }
    if (this.open === "thinking" && this.signature === "" && this.unsigned.length > 0) {
      const signature = this.context.state?.pack("", this.unsigned.join(""));
      if (signature !== undefined) this.delta({ type: "signature_delta", signature });
    }
    this.write({ type: "content_block_stop", index: this.index });
    this.open = "none";
    this.signature = "";
    this.unsigned = [];
    this.unsignedChars = 0;
    this.argumentsWritten = false;
  }

  private count(chars: number): void {
    this.waitingChars += chars;
    if (this.waitingChars > WAITING_CHARS_MAX) this.overfull = true;
  }
}
