import { arrayOf, isObject, type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import type { Thought } from "../../messages/blocks.ts";

/**
 * Returns the reasoning in a Chat message or delta. Servers use different fields, some several with
 * the same content, so only the first field that is not empty counts.
 */
export function thoughtsOf(message: JsonObject): Thought[] {
  const blocks = arrayOf(message["thinking_blocks"]).flatMap(thoughtOf);
  if (blocks.length > 0) return blocks;
  // Mistral thinks in parts of the content: open-webui/open-webui#30089.
  const parts = arrayOf(message["content"]).flatMap((part) =>
    isObject(part) && part["type"] === "thinking" ? [textOf(part["thinking"])] : [],
  );
  const details = arrayOf(message["reasoning_details"]).map((item) =>
    isObject(item) && typeof item["text"] === "string" ? item["text"] : "",
  );
  const texts = [
    message["reasoning_content"],
    message["reasoning"],
    details.join(""),
    parts.join(""),
  ];
  const thinking = texts.find((text) => typeof text === "string" && text !== "");
  return typeof thinking === "string" ? [{ type: "thinking", thinking, signature: "" }] : [];
}

/** Returns Gemini's thought signature of a call, in a message or delta; empty if it has none. */
export function thoughtSignatureOf(call: JsonObject): string {
  return stringOf(objectOf(objectOf(call["extra_content"])?.["google"])?.["thought_signature"]);
}

/** Returns the text of a Chat message or delta. Some servers send it in parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return arrayOf(content)
    .map((part) =>
      isObject(part) && part["type"] === "text" && typeof part["text"] === "string"
        ? part["text"]
        : "",
    )
    .join("");
}

export function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns the choice with index 0. A Messages reply has no place for more. */
export function firstChoice(choices: unknown): JsonObject | undefined {
  return arrayOf(choices)
    .filter(isObject)
    .find((choice) => (choice["index"] ?? 0) === 0);
}

/**
 * Returns name and arguments of a call in a Chat message or delta. Requests never declare custom
 * tools.
 */
export function functionOf(call: JsonObject): { name: string; args: unknown } {
  const called = objectOf(call["function"]) ?? {};
  return { name: stringOf(called["name"]), args: called["arguments"] };
}

export function matchedStop(choice: JsonObject): string {
  return stringOf(choice["stop_reason"]) || stringOf(choice["matched_stop"]);
}

function thoughtOf(item: unknown): Thought[] {
  if (!isObject(item)) return [];
  if (item["type"] === "redacted_thinking") {
    const data = stringOf(item["data"]);
    return data === "" ? [] : [{ type: "redacted_thinking", data }];
  }
  const thinking = stringOf(item["thinking"]);
  const signature = stringOf(item["signature"]);
  if (thinking === "" && signature === "") return [];
  return [{ type: "thinking", thinking, signature }];
}
