import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/contract/index.ts";

const IMAGE_TYPES = ["image", "image_url", "input_image"];

/**
 * Replaces the images of earlier turns by a line, for a model that cannot read images: a
 * conversation that had one goes on. Those of the last turn were refused before. The body is the
 * given one if it has none.
 */
export function withoutImages(
  body: JsonObject,
  field: "messages" | "input",
  id: string,
): JsonObject {
  const turns = arrayOf(body[field]);
  let changed = false;
  const edited = turns.map((turn) => {
    if (!isObject(turn) || !Array.isArray(turn["content"])) return turn;
    const content = withLines(turn["content"], `[image omitted: ${id} cannot read images]`);
    if (content === turn["content"]) return turn;
    changed = true;
    return { ...turn, content };
  });
  return changed ? { ...body, [field]: edited } : body;
}

function withLines(content: readonly unknown[], line: string): readonly unknown[] {
  let changed = false;
  const edited = content.map((entry) => {
    const part = objectOf(entry);
    const type = String(part?.["type"]);
    if (part && IMAGE_TYPES.includes(type)) {
      changed = true;
      return { type: type === "input_image" ? "input_text" : "text", text: line };
    }
    const inner = part?.["type"] === "tool_result" ? part["content"] : undefined;
    if (!part || !Array.isArray(inner)) return entry;
    const kept = withLines(inner, line);
    if (kept === inner) return entry;
    changed = true;
    return { ...part, content: kept };
  });
  return changed ? edited : content;
}
