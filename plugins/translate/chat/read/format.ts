import { type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import { isGiven, type Scope } from "../../messages/scope.ts";
import type { MessagesProfile } from "../../profile.ts";
import { AS_JSON } from "../../reply-format.ts";
import { withObjectType } from "../../schema/root.ts";
import type { MessagesRequest, MessagesTool } from "../../types.ts";
import { isThinking } from "./thinking.ts";
import { declaredTools, STRUCTURED_OUTPUT } from "./tools.ts";

/**
 * Returns true if a tool has to replace the wanted reply format. False if the client forces a call
 * of its own: then the call is the reply, and the format does not apply to calls.
 */
export function formatAsTool(body: JsonObject, profile: MessagesProfile): boolean {
  const format = objectOf(body["response_format"]);
  if (profile.structured_outputs !== "tool" || format?.["type"] !== "json_schema") return false;
  return !forcesCall(body);
}

/** Adds the wanted reply format to the request. */
export function addFormat(
  body: JsonObject,
  request: MessagesRequest,
  asTool: boolean,
  scope: Scope,
): void {
  const { notes } = scope;
  const format = notes.object(body, "response_format", "response_format");
  switch (format?.["type"]) {
    case undefined:
      if (format) notes.invalid("response_format.type", "is missing");
      return;
    case "text":
      return;
    case "json_object":
      request.system = [...(request.system ?? []), { type: "text", text: AS_JSON }];
      return;
    case "json_schema":
      addSchema(objectOf(format?.["json_schema"]), body, request, asTool, scope);
      return;
    default:
      notes.unsupported("response_format.type", "cannot be translated");
  }
}

function addSchema(
  given: JsonObject | undefined,
  body: JsonObject,
  request: MessagesRequest,
  asTool: boolean,
  scope: Scope,
): void {
  const { notes } = scope;
  const path = "response_format.json_schema";
  const schema = given && notes.object(given, "schema", `${path}.schema`);
  if (!schema) {
    notes.invalid(`${path}.schema`, "must be an object");
    return;
  }
  if (scope.profile.structured_outputs === "native") {
    if (isGiven(given?.["description"])) notes.drop("response_format.description");
    const wanted = { type: "json_schema", schema } as const;
    request.output_config = { ...request.output_config, format: wanted };
    return;
  }
  if (!asTool) {
    notes.drop("response_format");
    return;
  }
  if (declaredTools(body).includes(STRUCTURED_OUTPUT)) {
    notes.unsupported("response_format", `conflicts with the tool named ${STRUCTURED_OUTPUT}`);
  }
  const tool: MessagesTool = { name: STRUCTURED_OUTPUT, input_schema: withObjectType(schema) };
  const description = notes.string(given, "description", `${path}.description`);
  if (description) tool.description = description;
  request.tools = [...(request.tools ?? []), tool];
  const one = request.tool_choice && "disable_parallel_tool_use" in request.tool_choice;
  const flag = one ? { disable_parallel_tool_use: true } : {};
  // The upstream refuses a forced call together with thinking.
  request.tool_choice = isThinking(request)
    ? { type: "auto", ...flag }
    : { type: "tool", name: STRUCTURED_OUTPUT, ...flag };
}

function forcesCall(body: JsonObject): boolean {
  const choice = isGiven(body["tool_choice"]) ? body["tool_choice"] : body["function_call"];
  if (declaredTools(body).length === 0) return false;
  if (choice === "required") return true;
  const given = objectOf(choice);
  if (given?.["type"] !== "allowed_tools") return given !== undefined;
  return objectOf(given["allowed_tools"])?.["mode"] === "required";
}
