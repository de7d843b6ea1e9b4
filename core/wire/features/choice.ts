import { arrayOf, type JsonObject, objectOf } from "../../process/json.ts";

/**
 * Adjusts `tool_choice` to tools that were left out of a body. Returns the tool that the choice
 * demands, although it was left out; undefined if there is none.
 */
export function choiceOfLeftOut(
  body: JsonObject,
  leftOut: readonly JsonObject[],
): JsonObject | undefined {
  const [first] = leftOut;
  if (!first) return undefined;
  const choice = body["tool_choice"];
  const given = objectOf(choice);
  const named = leftOut.find((tool) => given !== undefined && names(given, tool));
  if (named) return named;
  if (given?.["type"] === "allowed_tools") return withoutLeftOut(body, given, leftOut);
  if (arrayOf(body["tools"]).length > 0) return undefined;
  if (choice === "required" || given?.["type"] === "any") return first;
  // A choice without tools is an error at most providers.
  delete body["tools"];
  delete body["tool_choice"];
  delete body["parallel_tool_calls"];
  return undefined;
}

function names(choice: JsonObject, tool: JsonObject): boolean {
  return choice["type"] === tool["type"];
}

/** Takes tools that were left out of a list of allowed ones. */
function withoutLeftOut(
  body: JsonObject,
  choice: JsonObject,
  leftOut: readonly JsonObject[],
): JsonObject | undefined {
  const listed = arrayOf(choice["tools"]);
  const named = (entry: unknown) => leftOut.find((tool) => names(objectOf(entry) ?? {}, tool));
  const kept = listed.filter((entry) => named(entry) === undefined);
  if (kept.length === 0) return named(listed[0]);
  body["tool_choice"] = { ...choice, tools: kept };
  return undefined;
}
