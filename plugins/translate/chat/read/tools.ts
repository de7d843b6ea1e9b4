import type Anthropic from "@anthropic-ai/sdk";
import { arrayOf, type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import { isGiven, mark, type Scope } from "../../messages/scope.ts";
import { customTool, functionTool } from "../../messages/tools.ts";
import type { MessagesRequest, MessagesTool } from "../../types.ts";

/**
 * Returns the client's names of its custom tools. Never throws, for any request.
 */
export function customTools(body: JsonObject): ReadonlySet<string> {
  const names = arrayOf(body["tools"]).flatMap((tool) => {
    const name = objectOf(objectOf(tool)?.["custom"])?.["name"];
    return typeof name === "string" ? [name] : [];
  });
  return new Set([...names, ...flatCustomTools(body)]);
}

/**
 * Returns the names of the custom tools that the client declares as Responses does. Cursor does, and reads a call only as one of
 * a function, whose arguments are the text: icebear0828/codex-proxy#708.
 */
export function flatCustomTools(body: JsonObject): ReadonlySet<string> {
  const names = arrayOf(body["tools"]).flatMap((entry) => {
    const { type, custom, name } = objectOf(entry) ?? {};
    const isFlat = type === "custom" && custom === undefined;
    return isFlat && typeof name === "string" ? [name] : [];
  });
  return new Set(names);
}

/** Returns the names of all tools that the client declared. */
export function declaredTools(body: JsonObject): string[] {
  const functions = arrayOf(body["functions"]).map(objectOf);
  const tools = arrayOf(body["tools"])
    .map(objectOf)
    .map((tool) => objectOf(tool?.["function"]) ?? objectOf(tool?.["custom"]) ?? tool);
  return [...tools, ...functions].flatMap((definition) => {
    const name = definition?.["name"];
    return typeof name === "string" ? [name] : [];
  });
}

/** Adds tools and tool choice to the request. Reads the legacy `functions` fields too. */
export function addTools(body: JsonObject, request: MessagesRequest, scope: Scope): void {
  let tools = unique(declared(body, scope), scope);
  if (tools.length === 0) return;
  const [choice, allowed] = chosen(body, tools, scope);
  if (allowed !== undefined) tools = tools.filter((tool) => allowed.has(tool.name));
  request.tools = tools;
  const parallel = scope.notes.boolean(body, "parallel_tool_calls", "parallel_tool_calls");
  if (parallel === false && choice?.type !== "none") {
    // The flag is part of the choice, and `auto` is the default choice.
    request.tool_choice = { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: true };
  } else if (choice) {
    request.tool_choice = choice;
  }
}

/**
 * Declares the tools that the history calls, if the request has none: the upstream requires it.
 * Forbids calls.
 */
export function addStubs(names: ReadonlySet<string>, request: MessagesRequest): void {
  if (request.tools !== undefined || names.size === 0) return;
  request.tools = [...names].map((name) => ({
    name,
    input_schema: { type: "object", properties: {} },
  }));
  request.tool_choice = { type: "none" };
}

/** Leaves out tools whose name an earlier one has: Claude refuses two of a name. */
function unique(tools: readonly MessagesTool[], { notes }: Scope): MessagesTool[] {
  const first = tools.filter(
    ({ name }, at) => tools.findIndex((other) => other.name === name) === at,
  );
  if (first.length < tools.length) notes.drop("tools");
  return first;
}

function declared(body: JsonObject, scope: Scope): MessagesTool[] {
  const { notes } = scope;
  const tools = notes.array(body, "tools", "tools") ?? [];
  if (tools.length > 0) return tools.flatMap((item, at) => toolOf(item, `tools[${at}]`, scope));
  const functions = notes.array(body, "functions", "functions") ?? [];
  return functions.flatMap((item, at) => {
    const definition = notes.element(item, `functions[${at}]`);
    return definition ? [made(functionTool, definition, `functions[${at}]`, scope)] : [];
  });
}

function toolOf(item: unknown, path: string, scope: Scope): MessagesTool[] {
  const { notes } = scope;
  const tool = notes.element(item, path);
  if (!tool) return [];
  const type = tool["type"] ?? "function";
  if (type === "custom") {
    const { custom: nested = tool } = tool;
    const custom = notes.element(nested, `${path}.custom`);
    if (!custom) return [];
    return [mark(made(customTool, custom, `${path}.custom`, scope), tool, path, scope)];
  }
  if (type !== "function") {
    notes.unsupported(`${path}.type`, "only function and custom tools can be translated");
    return [];
  }
  const definition = notes.element(tool["function"], `${path}.function`);
  if (!definition) return [];
  return [mark(made(functionTool, definition, `${path}.function`, scope), tool, path, scope)];
}

function made(
  make: typeof functionTool,
  definition: JsonObject,
  path: string,
  { names, notes }: Scope,
): MessagesTool {
  const name = notes.requiredString(definition, "name", `${path}.name`);
  return make(names.forMessages(name), definition, path, notes);
}

type Chosen = [choice: Anthropic.ToolChoice | undefined, allowed: ReadonlySet<string> | undefined];

function chosen(body: JsonObject, tools: readonly MessagesTool[], scope: Scope): Chosen {
  const path = isGiven(body["tool_choice"]) ? "tool_choice" : "function_call";
  const choice = body[path];
  if (!isGiven(choice)) return [undefined, undefined];
  if (choice === "auto" || choice === "none") return [{ type: choice }, undefined];
  if (choice === "required") return [{ type: "any" }, undefined];
  const given = objectOf(choice);
  if (given?.["type"] === "allowed_tools") return allowedOf(given, tools, scope);
  const name = given && namedBy(given, path === "function_call");
  if (name === undefined) {
    scope.notes.invalid(path, "is not a valid tool choice");
    return [undefined, undefined];
  }
  const translated = scope.names.forMessages(name);
  if (!tools.some((tool) => tool.name === translated)) {
    scope.notes.invalid(path, "names a tool that this request does not declare");
  }
  return [{ type: "tool", name: translated }, undefined];
}

function allowedOf(choice: JsonObject, tools: readonly MessagesTool[], scope: Scope): Chosen {
  const path = "tool_choice.allowed_tools";
  const given = scope.notes.element(choice["allowed_tools"], path);
  if (!given) return [undefined, undefined];
  const names = arrayOf(given["tools"]).flatMap((item) => {
    const name = namedBy(objectOf(item) ?? {}, true);
    return name === undefined ? [] : [scope.names.forMessages(name)];
  });
  const allowed = new Set(names);
  if (!tools.some((tool) => allowed.has(tool.name))) {
    scope.notes.invalid(path, "names no tool that this request declares");
  }
  const mode = given["mode"] ?? "auto";
  if (mode !== "auto" && mode !== "required") {
    scope.notes.invalid(`${path}.mode`, 'must be "auto" or "required"');
  }
  return [{ type: mode === "required" ? "any" : "auto" }, allowed];
}

/**
 * Returns the tool name of a choice. `bare` also allows the name at the top, as in legacy and list
 * forms.
 */
function namedBy(choice: JsonObject, bare: boolean): string | undefined {
  const named = objectOf(choice["function"]) ?? objectOf(choice["custom"]);
  const name = (named ?? (bare ? choice : {}))["name"];
  return typeof name === "string" && name !== "" ? name : undefined;
}
