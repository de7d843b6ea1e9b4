import type { MessagesContext } from "../chat/write/request.ts";
import type { AnswerBlock } from "../types.ts";

/** Returns the text of a refusal as a block, marked if it is translated on. */
export function refusalBlock(
  text: string,
  { marksRefusals }: Pick<MessagesContext, "marksRefusals">,
): AnswerBlock {
  return { type: "text", text, ...(marksRefusals && { refusal: true as const }) };
}
