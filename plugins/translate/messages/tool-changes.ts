import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/plugin/index.ts";

const CHANGES = new Set<unknown>(["tool_addition", "tool_removal"]);

/**
 * Returns the tools that a Messages conversation offers at its end: those of the request, with what turns of the system
 * add and without what they remove. Other protocols have one list for the whole conversation.
 */
export function offeredTools(body: JsonObject): readonly unknown[] {
  const declared = arrayOf(body["tools"]);
  const changes = arrayOf(body["messages"]).flatMap((turn) =>
    arrayOf(objectOf(turn)?.["content"]).filter(isToolChange),
  );
  if (changes.length === 0) return declared;
  const tools = [...declared];
  const removed = new Set<unknown>();
  for (const { type, tool } of changes) {
    const { name, definition } = objectOf(tool) ?? {};
    if (type === "tool_removal") removed.add(name);
    else if (!isObject(definition)) removed.delete(name);
    else {
      const at = tools.findIndex((other) => objectOf(other)?.["name"] === definition["name"]);
      tools.splice(at < 0 ? tools.length : at, at < 0 ? 0 : 1, definition);
      removed.delete(definition["name"]);
    }
  }
  return tools.filter((tool) => !removed.has(objectOf(tool)?.["name"]));
}

/** Returns the content of a turn of the system without the tools that it adds and removes. */
export function withoutToolChanges(content: unknown): unknown {
  if (content === undefined || content === null) return [];
  return Array.isArray(content) ? content.filter((block) => !isToolChange(block)) : content;
}

function isToolChange(block: unknown): block is JsonObject {
  return isObject(block) && CHANGES.has(block["type"]);
}
