import {
  arrayOf,
  isObject,
  type JsonObject,
  type LeftOut,
  type Outline,
  type Protocol,
} from "../../core/plugin/index.ts";

/** The body of a shorter request is read as a whole: its texts are too few to save time. */
const BYTES_MIN = 65_536;

/** Parts whose `text` is a text of the conversation. */
const TEXT_PARTS = new Set<unknown>(["text", "input_text", "output_text"]);

/**
 * Leaves out the long texts of a conversation that a translation only moves: what was said, and results of tools. All
 * other texts are put back into the tree, such as arguments, which are JSON inside of JSON, and thinking, which has a MAC.
 * Returns undefined if nothing is left out.
 */
export function leaveTextsOut(
  outline: Outline | undefined,
  protocol: Protocol,
): LeftOut | undefined {
  if (!outline || outline.bytes.length < BYTES_MIN) return undefined;
  const { tree, leftOut: texts } = outline;
  const kept = new Set<string>();
  // The last turn of the assistant loses the space at its end.
  const keep = (value: unknown, isTrimmed: boolean) => {
    if (typeof value !== "string") return;
    const text = texts.textOf(value);
    if (text?.beginsPlainly && (!isTrimmed || text.endsPlainly)) kept.add(value);
  };
  const keepParts = (content: unknown, isTrimmed: boolean) => {
    keep(content, isTrimmed);
    for (const part of arrayOf(content)) {
      if (!isObject(part)) continue;
      if (TEXT_PARTS.has(part["type"])) keep(part["text"], isTrimmed);
      else if (part["type"] === "tool_result") keepParts(part["content"], isTrimmed);
    }
  };
  for (const entry of arrayOf(tree[protocol === "responses" ? "input" : "messages"])) {
    if (!isObject(entry)) continue;
    if (isSaid(entry)) keepParts(entry["content"], entry["role"] === "assistant");
    else if (isOutput(entry)) keepParts(entry["output"], false);
  }
  if (kept.size === 0) return undefined;
  outline.fill(kept);
  return texts;
}

/** The instructions of a system are searched for lines that change with each call. */
function isSaid({ role, type }: JsonObject): boolean {
  const isSystem = role === "system" || role === "developer";
  return typeof role === "string" && !isSystem && (type === undefined || type === "message");
}

function isOutput({ type }: JsonObject): boolean {
  return type === "function_call_output" || type === "custom_tool_call_output";
}
