import { arrayOf, isObject, type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import { offeredTools } from "../../messages/tool-changes.ts";
import { ToolNames } from "../../names.ts";
import { asParameters } from "../../schema/root.ts";
import type { ChatRequest, ChatTool, ChatToolChoice } from "../../types.ts";
import { mark, type Scope } from "./scope.ts";

const TYPE_CHARS_MAX = 64;

/**
 * Returns the tool names of a request for the translation of the reply. Never throws, for any
 * request.
 */
export function declaredNames(body: unknown, charsMax: number): ToolNames {
  const names = new ToolNames();
  for (const tool of offeredTools(objectOf(body) ?? {})) {
    if (isObject(tool) && typeof tool["name"] === "string") names.forChat(tool["name"], charsMax);
  }
  return names;
}

/** Adds tools and tool choice to the request. Without tools there is no choice. */
export function addTools(body: JsonObject, request: ChatRequest, scope: Scope): void {
  scope.notes.array(body, "tools", "tools");
  const given = offeredTools(body);
  const tools = given.flatMap((item, at) => translateTool(item, `tools[${at}]`, scope));
  const choice = scope.notes.object(body, "tool_choice", "tool_choice");
  if (tools.length === 0) return;
  request.tools = tools;
  if (!choice) return;
  const translated = translateChoice(choice, tools, scope);
  if (translated !== undefined) request.tool_choice = translated;
  const path = "tool_choice.disable_parallel_tool_use";
  if (scope.notes.boolean(choice, "disable_parallel_tool_use", path) === true) {
    request.parallel_tool_calls = false;
  }
}

function translateTool(item: unknown, path: string, scope: Scope): ChatTool[] {
  const { notes, names, profile } = scope;
  const tool = notes.element(item, path);
  if (!tool) return [];
  const type = tool["type"];
  if (type !== undefined && type !== null && type !== "custom") {
    // A client with many tools cannot find one by its position.
    const named = typeof type === "string" ? type.slice(0, TYPE_CHARS_MAX) : "its type";
    notes.unsupported(`${path}.type`, `${named} cannot be translated, only custom tools can`);
    return [];
  }
  const schema = notes.object(tool, "input_schema", `${path}.input_schema`);
  const definition: ChatTool["function"] = {
    name: names.forChat(notes.requiredString(tool, "name", `${path}.name`), profile.tool_name_max),
  };
  const description = describedOf(tool, notes.string(tool, "description", `${path}.description`));
  if (description !== undefined) definition.description = description;
  definition.parameters = asParameters(schema);
  if (notes.boolean(tool, "strict", `${path}.strict`) === true) definition.strict = true;
  const translated: ChatTool = { type: "function", function: definition };
  return [mark(translated, tool, path, scope)];
}

const EXAMPLES_CHARS_MAX = 4_000;

/** Returns the description of a tool with the examples of its input, for which Chat has no field. */
function describedOf(tool: JsonObject, description: string | undefined): string | undefined {
  const examples = arrayOf(tool["input_examples"]);
  if (examples.length === 0) return description;
  const text = examples.map((example) => JSON.stringify(example)).join("\n");
  const shown = `Examples of its input:\n${text.slice(0, EXAMPLES_CHARS_MAX)}`;
  return description ? `${description}\n\n${shown}` : shown;
}

function translateChoice(
  choice: JsonObject,
  tools: readonly ChatTool[],
  scope: Scope,
): ChatToolChoice | undefined {
  switch (choice["type"]) {
    case "auto":
      return "auto";
    case "any":
      return "required";
    case "none":
      return "none";
    case "tool": {
      const given = scope.notes.requiredString(choice, "name", "tool_choice.name");
      const name = scope.names.forChat(given, scope.profile.tool_name_max);
      if (!tools.some((tool) => tool.function.name === name)) {
        scope.notes.invalid("tool_choice.name", "is not the name of a tool of this request");
      }
      return { type: "function", function: { name } };
    }
    default:
      scope.notes.invalid("tool_choice.type", 'must be "auto", "any", "tool" or "none"');
      return undefined;
  }
}
