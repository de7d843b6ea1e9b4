import { isBlank } from "../../arguments.ts";
import type { MessagesContext } from "../../chat/write/request.ts";
import type { BlockWriter } from "../../messages/blocks.ts";
import { WAITING_CHARS_MAX } from "../../stream.ts";

/** Stands between two messages of one reply in Chat, which has one text. */
const GAP = "\n\n";

type TextContext = Pick<MessagesContext, "joinsTexts" | "isFormatted">;

/**
 * Writes the texts and refusals of the messages in a reply, each as a block of its own. If the reply has a format, holds back
 * commentary until a call comes, or the end, and drops it at a final answer: GPT may write the same JSON in both, and two texts
 * are none. Sources: langchain4j/langchain4j#6399, langchain-ai/langchain#38997.
 */
export class MessageTexts {
  private readonly phases = new Map<string, unknown>();
  /** The message or refusal that was written last, and the last message of which there was more than white space. */
  private last: string | undefined = undefined;
  private spoken: string | undefined = undefined;
  private held: (readonly [message: string, text: string])[] = [];
  private heldChars = 0;
  private isAnswered = false;

  constructor(
    private readonly blocks: BlockWriter,
    private readonly context: TextContext,
  ) {}

  /** Begins a message at a place of the output. */
  begin(message: string, phase: unknown): void {
    if (this.context.isFormatted) this.phases.set(message, phase);
  }

  add(message: string, text: string): void {
    if (text === "") return;
    const phase = this.phases.get(message);
    if (phase === "commentary") {
      if (this.isAnswered) return;
      this.held.push([message, text]);
      this.heldChars += text.length;
      if (this.heldChars > WAITING_CHARS_MAX) this.release();
      return;
    }
    if (phase === "final_answer") this.answer(text);
    this.write(message, text);
  }

  refuse(message: string, text: string): void {
    if (text === "") return;
    if (this.phases.get(message) === "final_answer") this.answer(text);
    else this.release();
    this.goTo(`${message}/refusal`);
    this.blocks.refusal(text);
  }

  /** Writes the commentary that no final answer follows, or a call first. */
  release(): void {
    const { held } = this;
    this.held = [];
    this.heldChars = 0;
    this.phases.clear();
    for (const [message, text] of held) this.write(message, text);
  }

  private answer(text: string): void {
    if (isBlank(text)) return;
    this.isAnswered = true;
    this.held = [];
    this.heldChars = 0;
  }

  private write(message: string, text: string): void {
    this.goTo(message);
    if (isBlank(text)) return this.blocks.text(text);
    const isNext = this.spoken !== undefined && this.spoken !== message;
    this.spoken = message;
    this.blocks.text(isNext && this.context.joinsTexts ? GAP + text : text);
  }

  private goTo(part: string): void {
    if (this.last !== part) this.blocks.endText();
    this.last = part;
  }
}
