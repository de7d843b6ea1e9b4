import type { Protocol } from "../../catalogue/endpoint.ts";
import { type JsonObject, objectOf } from "../../process/json.ts";
import { type Row, WORDS } from "./table.ts";

/** Tools that the client runs, or that only shape the reply: they cost their tokens. */
const OWN: Readonly<Partial<Record<Protocol, ReadonlySet<string>>>> = {
  messages: new Set(["custom"]),
  chat: new Set(["function", "custom"]),
  responses: new Set(["function", "custom", "local_shell", "apply_patch", "namespace"]),
};

/** Tools of Messages that the client runs, alone or as a set of tools; a date follows the name. */
const RUN_BY_CLIENT = /^(?:bash|text_editor|computer|memory|browser)(?:_toolset)?_\d{8}$/;

/** Prefixes of a vendor, as in `openrouter:web_search`. */
const VENDOR = /^[a-z][a-z0-9_-]*[:/]/;

/** Types of tools that the provider runs. The first row whose form matches counts. */
const HOSTED: readonly (Row & { readonly type: RegExp })[] = [
  {
    type: /^file_search|^retrieval|^knowledge|^document_library/,
    rule: "demand",
    feature: "file_search",
    why: "files are not kept here",
    instead: WORDS.ownTool,
  },
  {
    type: /^tool_search/,
    rule: "demand",
    feature: "tool_search",
    why: "a search by the provider is not offered",
    instead: "send the tools themselves",
  },
  {
    type: /search|^builtin_function$/,
    rule: "demand",
    feature: "web_search",
    why: WORDS.noSearch,
    instead: WORDS.ownTool,
  },
  {
    type: /^web_(?:fetch|extractor)|^url_context|^visit_website/,
    rule: "demand",
    feature: "web_fetch",
    why: "pages are not fetched from here",
    instead: WORDS.ownTool,
  },
  {
    type: /^code_(?:execution|interpreter)/,
    rule: "demand",
    feature: "code_execution",
    why: "code is not run here",
    instead: WORDS.ownTool,
  },
  {
    type: /^image_generation/,
    rule: "demand",
    feature: "image_generation",
    why: "chat models make no images here",
    instead: "use /v1/images/generations",
  },
  {
    type: /^mcp/,
    rule: "demand",
    feature: "mcp",
    why: WORDS.noMcp,
    instead: WORDS.ownTool,
  },
  {
    type: /^computer/,
    rule: "demand",
    feature: "computer",
    why: "this tool is not offered",
    instead: WORDS.ownTool,
  },
  {
    type: /^shell$|^hosted_shell/,
    rule: "demand",
    feature: "hosted_shell",
    why: "hosted containers are not offered",
    instead: "use a local environment",
  },
  {
    type: /^advisor/,
    rule: "demand",
    feature: "advisor",
    why: "an advisor is another model at another price",
    instead: WORDS.leaveOut,
  },
];

const UNKNOWN: Row = {
  rule: "demand",
  feature: undefined,
  why: "a tool of this type is not known here",
  instead: "offer it as a function",
};

/** Functions of these names turn on tools of the provider in relays to Gemini. */
const OF_RELAYS: Readonly<Record<string, string>> = {
  googleSearch: "web_search",
  codeExecution: "code_execution",
  urlContext: "url_context",
};

/** Codex offers these by default. They are left out on Responses, unless `tool_choice` names one. */
const OPTIONAL_ON_RESPONSES = new Map<Row["feature"], Row>(
  HOSTED.filter(({ feature }) => feature === "web_search" || feature === "image_generation").map(
    (row) => [row.feature, { ...row, rule: "optional" }],
  ),
);

/** Returns the row of a tool that is not the client's own; undefined for one that costs tokens only. */
export function rowOfTool(tool: JsonObject, protocol: Protocol): Row | undefined {
  const { type } = tool;
  if (type === undefined || type === null) {
    // Some clients leave the type of a function out.
    if (protocol === "messages") return undefined;
    return isFunction(tool) ? rowOfFunction(tool) : UNKNOWN;
  }
  if (typeof type !== "string") return UNKNOWN;
  if (OWN[protocol]?.has(type)) return protocol === "chat" ? rowOfFunction(tool) : undefined;
  if (protocol === "messages" && RUN_BY_CLIENT.test(type)) return undefined;
  if (protocol === "responses" && runsAtClient(tool, type)) return undefined;
  const row = rowOfType(type.replace(VENDOR, "")) ?? UNKNOWN;
  return protocol === "responses" ? (OPTIONAL_ON_RESPONSES.get(row.feature) ?? row) : row;
}

function rowOfType(type: string): Row | undefined {
  return HOSTED.find((hosted) => hosted.type.test(type));
}

function rowOfFunction(tool: JsonObject): Row | undefined {
  const name = objectOf(tool["function"])?.["name"];
  if (typeof name !== "string" || !Object.hasOwn(OF_RELAYS, name)) return undefined;
  const row = rowOfType(OF_RELAYS[name] ?? "");
  return row && { ...row, instead: "give your own function another name" };
}

function isFunction(tool: JsonObject): boolean {
  return objectOf(tool["function"]) !== undefined || typeof tool["name"] === "string";
}

function runsAtClient(tool: JsonObject, type: string): boolean {
  if (type === "tool_search") return tool["execution"] === "client";
  if (type !== "shell") return false;
  const environment = objectOf(tool["environment"]);
  return environment === undefined || environment["type"] === "local";
}
