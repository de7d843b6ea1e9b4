import type { Protocol } from "../../catalogue/endpoint.ts";
import { arrayOf, isObject, type JsonObject, objectOf } from "../../process/json.ts";
import { isPublicHost } from "../../process/public-address.ts";
import { misspelledIn, misspelledInTool } from "./names.ts";
import {
  demand,
  FIELDS,
  type FieldRow,
  hint,
  MISSPELLED,
  NO_CODE,
  NO_MCP,
  NO_SEARCH,
  optional,
  type Row,
  STORE,
  WORDS,
} from "./table.ts";

/**
 * Removes parts from a body: all whose `leaveOut` is this function, since a client may send thousands of them in one list.
 * Of tools, it removes these.
 */
type LeaveOut = (tools: ReadonlySet<unknown>) => void;

/** A part of a request that has a row in the table. */
export interface Use {
  readonly row: Row;
  /** Path of the field at fault: `tools[2].type`. */
  readonly path: string;
  /** The name of the part in the header that lists what was left out. */
  readonly name: string;
  /** Undefined for a demand. */
  readonly leaveOut: LeaveOut | undefined;
  /** True if that sets or deletes a field of the body, and changes nothing inside of one. */
  readonly isTop: boolean;
  readonly tool: JsonObject | undefined;
}

const NOTHING: readonly Use[] = Object.freeze([]);

/**
 * Returns every part of a body that has a row in the table. Runs for each call, native or translated: reads each field,
 * turn, part and tool once, and no text. `privateAddresses`: images and files may be in private networks.
 */
export function usesIn(
  body: JsonObject,
  protocol: Protocol,
  privateAddresses: boolean,
): readonly Use[] {
  const walk = new Walk(protocol, privateAddresses);
  walk.fields(body);
  walk.tools(body, "");
  walk.mark(body);
  walk.list(body["system"], "system");
  walk.list(body["messages"], "messages");
  walk.list(body["input"], "input");
  return walk.uses ?? NOTHING;
}

/** By protocol. One without priced fields needs no entry. */
const ROWS_BY_FIELD = new Map(
  [...new Set(FIELDS.flatMap(({ on }) => on))].map((protocol) => [protocol, rowsOn(protocol)]),
);

function rowsOn(protocol: Protocol): ReadonlyMap<string, FieldRow> {
  const rows = FIELDS.filter((row) => row !== STORE && row.on.includes(protocol));
  return new Map(rows.map((row) => [row.field, row]));
}

/** Parts and items that carry no more than text, thinking, or a call of a tool: nearly all are one of these. */
const PLAIN = new Set<unknown>([
  ...["text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text"],
  ...["thinking", "redacted_thinking", "reasoning", "tool_use"],
  ...["function_call", "custom_tool_call"],
]);

/** Results of the client's tools: what they carry is in their `content` or `output`. */
const RESULTS = new Set<unknown>([
  ...["tool_result", "function_call_output", "custom_tool_call_output"],
]);

/** Fields that hold an address, a list of them, or an object with one as `url`, `file_url` or `data`. */
const WITH_ADDRESS = new Set([
  ...["image_url", "file_url", "video_url", "audio_url", "document_url"],
  ...["image", "file", "video", "audio", "input_audio", "input_file"],
]);
/** These may be given by address. */
const IMAGES = new Set<string>(["image_url", "image"]);
/** These hold data without a scheme, too. */
const DATA = new Set<string>(["image", "file", "video", "audio", "input_audio", "input_file"]);

const SCHEME = /^\s*([a-z][a-z0-9+.-]*):/i;
/** A host name that needs no parser to be found. No address ends in a label that begins with a letter. */
const PLAIN_HOST = /^https?:\/\/((?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*)(?::\d{1,5})?(?:[/?#]|$)/i;
/** Other addresses are parsed, which takes microseconds. */
const ODD_ADDRESSES_MAX = 256;
const ADDRESS_CHARS_MAX = 16_384;
const PDF = /\.pdf(?:[?#]|$)/i;

/**
 * Collects what a request asks for. A turn, an item, a part and a tool are objects in lists, and each may have such lists
 * again. The nesting of a request is bounded, so that recursion has an end. What a tool is called with, and schemas, are
 * the client's own: they are not read.
 */
class Walk {
  /** Allocated only for a request that asks for something. */
  uses: Use[] | undefined = undefined;
  private oddAddresses = 0;
  private leaveReferencesOut: LeaveOut | undefined = undefined;

  constructor(
    private readonly protocol: Protocol,
    private readonly privateAddresses: boolean,
  ) {}

  private add(row: Row, path: string, name: string, more: Partial<Use> = {}): void {
    this.uses ??= [];
    const { leaveOut, isTop = false, tool } = more;
    this.uses.push({ row, path, name, leaveOut, isTop, tool });
  }

  fields(body: JsonObject): void {
    this.leaveReferencesOut = () => {
      body["input"] = arrayOf(body["input"]).filter((item) => !isReasoningReference(item));
    };
    const rows = ROWS_BY_FIELD.get(this.protocol);
    for (const name in body) {
      const row = rows?.get(name);
      const value = body[name];
      if (row && !isEmpty(value) && row.asks?.(value) !== false) this.field(row, body);
    }
    const { store } = body;
    // Responses are kept by default, and a lenient provider may read anything but `false` as `true`.
    const isKept = store === undefined ? this.protocol === "responses" : store !== false;
    if (isKept) this.field(STORE, body);
    const misspelled = misspelledIn(body);
    if (misspelled !== undefined) this.add(MISSPELLED, misspelled, misspelled);
  }

  private field(row: FieldRow, body: JsonObject): void {
    const { field, replacement } = row;
    const leaveOut = () => {
      if (replacement === undefined) delete body[field];
      else body[field] = replacement;
    };
    this.add(row, field, field, { leaveOut, isTop: true });
  }

  /** Tools in `holder.tools`: the body's, those of a turn, an item or a part, or of another tool. */
  tools(holder: JsonObject, path: string): void {
    const { tools } = holder;
    if (!Array.isArray(tools)) return;
    const inside = path === "" ? "tools" : `${path}.tools`;
    const leaveOut: LeaveOut = (left) => {
      holder["tools"] = arrayOf(holder["tools"]).filter((tool) => !left.has(tool));
    };
    for (let at = 0; at < tools.length; at++) {
      const tool = objectOf(tools[at]);
      if (tool) this.tool(tool, `${inside}[${at}]`, leaveOut, path === "");
    }
  }

  /** A tool of a list, or one that a turn of the system adds, which cannot be left out. */
  private tool(tool: JsonObject, path: string, leaveOut?: LeaveOut, isTop = false): void {
    const misspelled = misspelledInTool(tool);
    if (misspelled !== undefined) this.add(MISSPELLED, `${path}.${misspelled}`, misspelled);
    const row = rowOfTool(tool, this.protocol);
    if (row) {
      const name = typeof tool["type"] === "string" ? tool["type"] : "tools";
      this.add(row, `${path}.type`, name, { leaveOut, isTop, tool });
    }
    this.mark(tool);
    if (tool["tools"] !== undefined) this.tools(tool, path);
  }

  list(list: unknown, path: string): void {
    if (!Array.isArray(list)) return;
    for (let at = 0; at < list.length; at++) {
      const node = objectOf(list[at]);
      if (!node) continue;
      this.mark(node);
      if (PLAIN.has(node["type"])) continue;
      if (isReference(node)) this.reference(node, `${path}[${at}]`);
      else this.node(node, `${path}[${at}]`);
    }
  }

  /** A reference to reasoning can be left out: calls stand alone. The AI SDK sends one for each step. */
  private reference(node: JsonObject, path: string): void {
    if (!isReasoningReference(node)) {
      return this.add(PARTS.reference, path, "item_reference");
    }
    const leaveOut = this.leaveReferencesOut;
    this.add(PARTS.reasoningReference, path, "item_reference", { leaveOut });
  }

  private node(node: JsonObject, path: string): void {
    const { type, content } = node;
    if (node["role"] != null) {
      if (node["tools"] !== undefined) this.tools(node, path);
      if (node["audio"] != null) this.add(PARTS.stored, `${path}.audio`, "audio");
    } else if (RESULTS.has(type)) {
      this.list(node["output"], `${path}.output`);
    } else this.item(node, path);
    if (typeof content !== "string") this.list(content, `${path}.content`);
  }

  /** A part or an item that is neither a turn nor the result of a tool. */
  private item(item: JsonObject, path: string): void {
    const { type, output } = item;
    if (item["tools"] !== undefined) this.tools(item, path);
    const added = type === "tool_addition" && objectOf(objectOf(item["tool"])?.["definition"]);
    if (added) this.tool(added, `${path}.tool.definition`);
    if (type === "container_upload") this.add(PARTS.containerUpload, path, type);
    else if (type === "image_generation_call" && typeof item["result"] !== "string") {
      this.add(PARTS.stored, path, type);
    }
    this.media(item, path);
    const picture = objectOf(output);
    if (picture) this.media(picture, `${path}.output`);
    else this.list(output, `${path}.output`);
  }

  private media(part: JsonObject, path: string): void {
    const { type } = part;
    // `{ type: "file", file: { file_id } }` in Chat, `{ type: "input_file", file_id }` in Responses.
    const named = typeof type === "string" ? objectOf(part[type]) : undefined;
    if (isId(part["file_id"]) || isId(named?.["file_id"])) {
      this.add(PARTS.fileId, `${path}.file_id`, "file_id");
    }
    for (const field in part) {
      if (WITH_ADDRESS.has(field)) this.addresses(part[field], field, `${path}.${field}`);
    }
    const source = objectOf(part["source"]);
    if (!source) return;
    // The source of an image or document in Messages.
    if (source["type"] === "file" || isId(source["file_id"])) {
      this.add(PARTS.fileId, `${path}.source`, "file_id");
    } else if (source["url"] !== undefined) {
      this.address(
        source["url"],
        type === "image" ? "image_url" : `${type}_url`,
        `${path}.source.url`,
      );
    }
    this.list(source["content"], `${path}.source.content`);
  }

  private addresses(value: unknown, field: string, path: string): void {
    if (Array.isArray(value)) {
      for (const entry of value) this.address(entry, field, path);
      return;
    }
    const holder = objectOf(value);
    if (!holder) return this.address(value, field, path);
    for (const name of ["url", "file_url", "data"] as const) {
      this.address(holder[name], name === "data" ? "input_audio" : field, path);
    }
  }

  private address(value: unknown, field: string, path: string): void {
    if (typeof value !== "string" || value === "") return;
    const scheme = SCHEME.exec(value.slice(0, 64))?.[1]?.toLowerCase();
    if (scheme === "data" || (scheme === undefined && DATA.has(field))) return;
    if (!this.mayBeAsked(value, scheme)) this.add(PARTS.address, path, field);
    else if (!IMAGES.has(field) || PDF.test(value)) this.add(PARTS.remoteFile, path, field);
  }

  private mayBeAsked(address: string, scheme: string | undefined): boolean {
    if (scheme !== "http" && scheme !== "https") return false;
    const name = PLAIN_HOST.exec(address)?.[1];
    if (name !== undefined) return this.privateAddresses || isPublicHost(name);
    if (++this.oddAddresses > ODD_ADDRESSES_MAX || address.length > ADDRESS_CHARS_MAX) return false;
    if (!URL.canParse(address)) return false;
    return this.privateAddresses || isPublicHost(new URL(address).hostname);
  }

  /** A cache mark that is to live for longer than the usual five minutes. */
  mark(marked: JsonObject): void {
    if (marked["cache_control"] == null) return;
    const mark = objectOf(marked["cache_control"]);
    const ttl = mark?.["ttl"];
    if (!mark || ttl === undefined || ttl === null || ttl === "5m") return;
    const leaveOut = () => {
      const { ttl: _, ...rest } = mark;
      marked["cache_control"] = rest;
    };
    this.add(PARTS.longCache, "cache_control.ttl", "cache_control.ttl", { leaveOut });
  }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return true;
  return Array.isArray(value) && value.length === 0;
}

/** The type of a reference may be left out. */
function isReference(node: JsonObject): boolean {
  const { type, role, id } = node;
  return type === "item_reference" || (type == null && role == null && isId(id));
}

function isReasoningReference(item: unknown): boolean {
  return isObject(item) && isReference(item) && String(item["id"]).startsWith("rs_");
}

function isId(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

/** Parts of turns, tool results and input items beyond their own text. */
const PARTS = {
  fileId: demand("files", "files are not kept here", WORDS.sendContent),
  address: demand(
    undefined,
    "only data: and public http(s) addresses are taken",
    WORDS.sendContent,
  ),
  remoteFile: demand("remote_files", "only images may be given as a URL", WORDS.sendContent),
  containerUpload: demand("containers", "containers are not offered", WORDS.sendContent),
  stored: demand("stored_state", WORDS.noState, WORDS.sendContent),
  reasoningReference: optional("stored_state", WORDS.noState),
  reference: demand(
    "stored_state",
    WORDS.noState,
    "send the content itself (AI SDK: `store: false` in the provider options, or `openai.chat(model)`)",
  ),
  longCache: hint("long_cache", "long cache entries cost more", "leave ttl out"),
} as const satisfies Readonly<Record<string, Row>>;

/** Tools that the client runs, or that only shape the reply: they cost their tokens. */
const OWN: Readonly<Partial<Record<Protocol, ReadonlySet<string>>>> = {
  messages: new Set(["custom"]),
  chat: new Set(["function", "custom"]),
  responses: new Set(["function", "custom", "local_shell", "apply_patch", "namespace"]),
};

/** Types of Messages are dated. Those that the provider runs are in `HOSTED`; the client runs all others, also new ones. */
const DATED = /^[a-z][a-z0-9_]*_\d{8}$/;

/** Prefixes of a vendor, as in `openrouter:web_search`. */
const VENDOR = /^[a-z][a-z0-9_-]*[:/]/;

/** Types of tools that the provider runs. The first row whose form matches counts. */
const HOSTED: readonly (readonly [type: RegExp, row: Row])[] = [
  [
    /^file_search|^retrieval|^knowledge|^document_library/,
    demand("file_search", "files are not kept here", WORDS.ownTool),
  ],
  [
    /^tool_search/,
    demand("tool_search", "a search by the provider is not offered", "send the tools themselves"),
  ],
  [/search|^builtin_function$/, NO_SEARCH],
  [
    /^web_|^url_context|^visit_website/,
    demand("web_fetch", "pages are not fetched from here", WORDS.ownTool),
  ],
  [/^code_(?:execution|interpreter)/, NO_CODE],
  [
    /^image_generation/,
    demand("image_generation", "chat models make no images here", "use /v1/images/generations"),
  ],
  [/^mcp/, NO_MCP],
  [/^computer/, demand("computer", "this tool is not offered", WORDS.ownTool)],
  [
    /^shell$|^hosted_shell/,
    demand("hosted_shell", "hosted containers are not offered", "use a local environment"),
  ],
  [/^advisor/, demand("advisor", "an advisor is another model at another price")],
];

const UNKNOWN = demand(
  undefined,
  "a tool of this type is not known here",
  "offer it as a function",
);

/** Functions of these names turn on tools of the provider in relays to Gemini. */
const OF_RELAYS: Readonly<Record<string, string>> = {
  googleSearch: "web_search",
  codeExecution: "code_execution",
  urlContext: "url_context",
};

/** Codex offers these by default. They are left out on Responses, unless `tool_choice` names one. */
const OPTIONAL_ON_RESPONSES = new Map<Row["feature"], Row>(
  HOSTED.map(([, row]) => row)
    .filter(({ feature }) => feature === "web_search" || feature === "image_generation")
    .map((row) => [row.feature, { ...row, rule: "optional" }]),
);

/** Returns the row of a tool that is not the client's own; undefined for one that costs tokens only. */
function rowOfTool(tool: JsonObject, protocol: Protocol): Row | undefined {
  const { type } = tool;
  if (type === undefined || type === null) {
    // Some clients leave the type of a function out.
    if (protocol === "messages") return undefined;
    const isFunction = objectOf(tool["function"]) || typeof tool["name"] === "string";
    return isFunction ? rowOfFunction(tool) : UNKNOWN;
  }
  if (typeof type !== "string") return UNKNOWN;
  if (OWN[protocol]?.has(type)) return protocol === "chat" ? rowOfFunction(tool) : undefined;
  if (protocol === "responses" && runsAtClient(tool, type)) return undefined;
  const hosted = rowOfType(type.replace(VENDOR, ""));
  const isClients = hosted === undefined || hosted.feature === "computer";
  if (protocol === "messages" && isClients && DATED.test(type)) return undefined;
  const row = hosted ?? UNKNOWN;
  return protocol === "responses" ? (OPTIONAL_ON_RESPONSES.get(row.feature) ?? row) : row;
}

function rowOfType(type: string): Row | undefined {
  return HOSTED.find(([form]) => form.test(type))?.[1];
}

function rowOfFunction(tool: JsonObject): Row | undefined {
  const name = objectOf(tool["function"])?.["name"];
  if (typeof name !== "string" || !Object.hasOwn(OF_RELAYS, name)) return undefined;
  const row = rowOfType(OF_RELAYS[name] ?? "");
  return row && { ...row, instead: "give your own function another name" };
}

function runsAtClient(tool: JsonObject, type: string): boolean {
  if (type === "tool_search") return tool["execution"] === "client";
  if (type !== "shell") return false;
  const environment = objectOf(tool["environment"]);
  return environment === undefined || environment["type"] === "local";
}
