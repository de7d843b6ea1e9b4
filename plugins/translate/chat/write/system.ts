import { isBlank } from "../../arguments.ts";
import type { ChatText } from "../../types.ts";
import { textPart } from "./content.ts";
import { mark, type Scope } from "./scope.ts";

/**
 * The beginning of a line that some clients put into the system prompt. It changes with every call,
 * which defeats caching.
 */
const TELEMETRY_LINE = "x-anthropic-billing-header:";

/** Returns the texts of a system prompt or entry, without telemetry and blank texts. */
export function systemTexts(content: unknown, path: string, scope: Scope): ChatText[] {
  const ofText = (text: string) => cleaned({ type: "text", text });
  return scope.notes.parts(content, path, ofText, (block, where) => {
    if (block["type"] !== "text") {
      scope.notes.invalid(`${where}.type`, 'must be "text"');
      return [];
    }
    return cleaned(mark(textPart(block, where, scope), block, where, scope));
  });
}

/** Returns the texts as parts if cache marks need them, otherwise joined by blank lines. */
export function asSystemContent(texts: ChatText[], marked: boolean): string | ChatText[] {
  return marked ? texts : texts.map((part) => part.text).join("\n\n");
}

function cleaned(part: ChatText): ChatText[] {
  const text = part.text.includes(TELEMETRY_LINE)
    ? part.text
        .split("\n")
        .filter((line) => !line.startsWith(TELEMETRY_LINE))
        .join("\n")
    : part.text;
  return isBlank(text) ? [] : [{ ...part, text }];
}
