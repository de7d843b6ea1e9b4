import type { JsonObject } from "../../../../core/plugin/index.ts";
import type { MessagesContext } from "../../chat/write/request.ts";
import type { BlockWriter } from "../../messages/blocks.ts";
import { WAITING_CHARS_MAX } from "../../stream.ts";

/** Stands between two messages of one reply in Chat, which has one text. */
export const GAP = "\n\n";

type TextContext = Pick<MessagesContext, "joinsTexts" | "isFormatted">;

/**
 * Returns the items without the commentary that a final answer follows, if the reply has a format: GPT may write the same JSON
 * in both, and two texts are none. Sources: langchain4j/langchain4j#6399, langchain-ai/langchain#38997.
 */
export function withoutCommentary(
  items: readonly JsonObject[],
  { isFormatted }: TextContext,
): readonly JsonObject[] {
  const isAnswered = items.some(({ phase }) => phase === "final_answer");
  return isFormatted && isAnswered ? items.filter(({ phase }) => phase !== "commentary") : items;
}

/** Writes the texts of the messages in a stream, each as a text of its own. Does the same with commentary: holds it back. */
export class MessageTexts {
  private readonly phases = new Map<string, unknown>();
  /** The message whose text was written last. */
  private last: string | undefined = undefined;
  private held: (readonly [message: string, text: string])[] = [];
  private heldChars = 0;

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
      this.held.push([message, text]);
      this.heldChars += text.length;
      if (this.heldChars > WAITING_CHARS_MAX) this.release();
      return;
    }
    if (phase === "final_answer") this.held = [];
    this.write(message, text);
  }

  /** Writes the commentary that no final answer follows, or a call first. */
  release(): void {
    const { held } = this;
    this.held = [];
    this.phases.clear();
    for (const [message, text] of held) this.write(message, text);
  }

  private write(message: string, text: string): void {
    const isNext = this.last !== undefined && this.last !== message;
    this.last = message;
    if (isNext) this.blocks.endText();
    this.blocks.text(isNext && this.context.joinsTexts ? GAP + text : text);
  }
}
