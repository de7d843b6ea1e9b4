import type { FeatureName } from "../../catalogue/features.ts";
import type { Profile } from "../../catalogue/profile.ts";
import { arrayOf, isObject, type JsonObject, objectOf } from "../../process/json.ts";
import type { Use } from "./find.ts";
import { optional } from "./table.ts";

/**
 * Betas that always go upstream, by their name without its date. All that are in neither list are left out and named, since
 * a beta may change what is billed.
 */
const FREE = new Set([
  // Tools of the provider that come by `inline-tools` are checked as all others.
  ...["adaptive-thinking", "advanced-tool-use", "cache-diagnosis", "claude-code", "compact"],
  ...["computer-use", "context-management", "dev-full-thinking", "effort"],
  ...["fine-grained-tool-streaming", "inline-tools", "interleaved-thinking"],
  ...["max-tokens-3-5-sonnet", "mid-conversation-output-config", "mid-conversation-system"],
  ...["mid-conversation-system-clear-at", "mid-conversation-tool-changes"],
  ...["model-context-window-exceeded", "output-128k", "output-300k", "pdfs"],
  ...["per-turn-control", "prompt-caching", "prompt-caching-scope", "redact-thinking"],
  ...["search-results", "structured-outputs", "task-budgets", "thinking-binding-controls"],
  ...["thinking-display-updates", "thinking-token-count", "token-counting"],
  ...["token-efficient-tools", "tool-examples", "tool-search-tool", "responses=experimental"],
]);

/** Betas that go if the config allows the feature. */
const PRICED: Readonly<Record<string, FeatureName>> = {
  "advisor-tool": "advisor",
  "code-execution": "code_execution",
  "code-execution-web-tools": "code_execution",
  "context-1m": "long_context",
  "extended-cache-ttl": "long_cache",
  "fast-mode": "fast_mode",
  "files-api": "files",
  "mcp-client": "mcp",
  "mcp-servers": "mcp",
  "server-side-fallback": "fallbacks",
  skills: "containers",
  "web-fetch": "web_fetch",
  "web-search": "web_search",
};

/**
 * The fields that Messages has without a beta, and the types of blocks in turns of role system. `messages.content` is a
 * field of a turn, `messages.content.text` a type of block. Source: the types of @anthropic-ai/sdk 1.14.0.
 */
const PLAIN_FIELDS = [
  ...["model", "messages", "max_tokens", "system", "tools", "tool_choice", "metadata", "stream"],
  ...["stop_sequences", "temperature", "top_k", "top_p", "cache_control", "container", "speed"],
  ...["diagnostics", "inference_geo", "service_tier", "user_profile_id", "workspace_id"],
  ...["messages.role", "messages.content", "messages.content.text"],
  ...["thinking", "thinking.type", "thinking.budget_tokens", "thinking.display"],
  ...["output_config", "output_config.effort", "output_config.format"],
];

const TOOL_CHANGES = ["messages.content.tool_addition", "messages.content.tool_removal"];

/** The fields that only a beta allows, by its name without its date. */
const FIELDS_OF_BETAS: Readonly<Record<string, readonly string[]>> = {
  compact: ["compaction", "context_management"],
  "context-management": ["context_management"],
  "inline-tools": TOOL_CHANGES,
  "mcp-client": ["mcp_servers"],
  "mid-conversation-output-config": ["messages.output_config"],
  "mid-conversation-system-clear-at": ["messages.clear_at"],
  "mid-conversation-tool-changes": TOOL_CHANGES,
  "per-turn-control": ["messages.output_config"],
  "prompt-caching-scope": ["cache_control.scope"],
  "server-side-fallback": ["fallbacks"],
  "structured-outputs": ["output_format"],
  "task-budgets": ["output_config.task_budget"],
  "thinking-binding-controls": ["thinking.block_binding"],
};

const DATE = /-\d{4}-?\d{2}-?\d{2}$/;

/** Returns what a beta switches on: `free` for tokens only, undefined for an unknown one. */
export function featureOfBeta(beta: string): FeatureName | "free" | undefined {
  const name = withoutDate(beta);
  if (FREE.has(name)) return "free";
  return Object.hasOwn(PRICED, name) ? PRICED[name] : undefined;
}

/** Returns the fields and blocks of a Messages request that the provider takes with these betas. */
export function fieldsWith(betas: readonly string[]): ReadonlySet<string> {
  const names = betas.map(withoutDate).filter((name) => Object.hasOwn(FIELDS_OF_BETAS, name));
  return new Set([...PLAIN_FIELDS, ...names.flatMap((name) => FIELDS_OF_BETAS[name] ?? [])]);
}

/** Returns the name by which a provider knows a beta; null if it refuses it. */
export function betaFor(beta: string, { betas = {} }: Profile): string | null {
  const name = withoutDate(beta);
  return Object.hasOwn(betas, name) ? (betas[name] ?? null) : beta;
}

function withoutDate(beta: string): string {
  return beta.replace(DATE, "");
}

const ROW = optional(undefined, "its beta is not offered here", "leave it out");

/** Fields to whose own fields betas add. */
const HOLDERS = ["thinking", "output_config"];

/**
 * Returns the parts of a Messages request that are not in `allowed`. A beta that does not go upstream may have brought
 * them, and the provider refuses a field without its beta.
 */
export function fieldsBeyond(allowed: ReadonlySet<string>, body: JsonObject): readonly Use[] {
  const found: Use[] = [];
  for (const name in body) {
    if (allowed.has(name)) continue;
    found.push(left(name, name, () => delete body[name], true));
  }
  for (const holder of HOLDERS) {
    const value = objectOf(body[holder]);
    for (const name in value) {
      const path = `${holder}.${name}`;
      if (!allowed.has(path)) found.push(left(path, path, () => delete value[name]));
    }
  }
  const leaveOut = () => {
    const turns = arrayOf(body["messages"]);
    body["messages"] = turns.filter((turn) => !isObject(turn) || !isEmptied(turn, allowed));
  };
  for (const [at, turn] of arrayOf(body["messages"]).entries()) {
    if (!isObject(turn)) continue;
    for (const [path, name] of beyondIn(turn, allowed)) {
      found.push(left(`messages[${at}].${path}`, `messages.${name}`, leaveOut));
    }
  }
  if (!allowed.has(SCOPE)) findScopes(body, found);
  return found;
}

const SCOPE = "cache_control.scope";

/** Finds the scopes of cache marks. Those outside of messages are left out by new fields, so that a long conversation stays bytes. */
function findScopes(body: JsonObject, found: Use[]): void {
  const leave = (name: string, leaveOut: () => void) =>
    found.push(left(`${name}.${SCOPE}`, SCOPE, leaveOut, true));
  for (const name of ["system", "tools"]) {
    const list = arrayOf(body[name]);
    if (list.some(hasScope)) leave(name, () => (body[name] = list.map(withoutScope)));
  }
  if (hasScope(body)) {
    const { cache_control: mark } = withoutScope(body);
    found.push(left(SCOPE, SCOPE, () => (body["cache_control"] = mark), true));
  }
  findScopesIn(body["messages"], "messages", found);
}

function findScopesIn(list: unknown, path: string, found: Use[]): void {
  for (const [at, entry] of arrayOf(list).entries()) {
    if (!isObject(entry)) continue;
    const mark = objectOf(entry["cache_control"]);
    if (mark && hasScope(entry)) {
      found.push(left(`${path}[${at}].${SCOPE}`, SCOPE, () => delete mark["scope"]));
    }
    findScopesIn(entry["content"], `${path}[${at}].content`, found);
  }
}

function hasScope(entry: unknown): boolean {
  return objectOf(objectOf(entry)?.["cache_control"])?.["scope"] !== undefined;
}

function withoutScope<Entry>(entry: Entry): Entry {
  if (!hasScope(entry)) return entry;
  const { scope: _, ...mark } = { ...objectOf(objectOf(entry)?.["cache_control"]) };
  return { ...entry, cache_control: mark };
}

/** Returns the path and the name of each field and block of a turn that is not in `allowed`. */
function beyondIn(turn: JsonObject, allowed: ReadonlySet<string>): [path: string, name: string][] {
  const found: [string, string][] = [];
  for (const name in turn) if (!allowed.has(`messages.${name}`)) found.push([name, name]);
  if (turn["role"] !== "system") return found;
  for (const [at, block] of arrayOf(turn["content"]).entries()) {
    const name = nameOfBlock(block);
    if (!allowed.has(`messages.${name}`)) found.push([`content[${at}]`, name]);
  }
  return found;
}

function nameOfBlock(block: unknown): string {
  return `content.${String(objectOf(block)?.["type"])}`;
}

/**
 * Leaves fields and blocks out of a turn. Returns true if the turn has to go too: the provider refuses one of the system
 * with neither content nor settings.
 */
function isEmptied(turn: JsonObject, allowed: ReadonlySet<string>): boolean {
  if (beyondIn(turn, allowed).length === 0) return false;
  for (const name in turn) if (!allowed.has(`messages.${name}`)) delete turn[name];
  if (turn["role"] !== "system") return false;
  if (Array.isArray(turn["content"])) {
    turn["content"] = turn["content"].filter((one) => allowed.has(`messages.${nameOfBlock(one)}`));
  }
  const { role: _, content = [], ...settings } = turn;
  const isEmpty = content === "" || (Array.isArray(content) && content.length === 0);
  return isEmpty && Object.keys(settings).length === 0;
}

function left(path: string, name: string, leaveOut: () => void, isTop = false): Use {
  return { row: ROW, path, name, leaveOut, isTop, tool: undefined };
}

/**
 * Adjusts `tool_choice` to tools that were left out of a body. Returns the tool that the choice
 * demands, although it was left out; undefined if there is none.
 */
export function choiceOfLeftOut(
  body: JsonObject,
  leftOut: ReadonlySet<JsonObject>,
): JsonObject | undefined {
  const [first] = leftOut;
  if (!first) return undefined;
  const choice = body["tool_choice"];
  const given = objectOf(choice);
  const byType = new Map([...leftOut].map((tool) => [tool["type"], tool]));
  const named = given && byType.get(given["type"]);
  if (named) return named;
  if (given?.["type"] === "allowed_tools") return withoutLeftOut(body, given, byType);
  if (arrayOf(body["tools"]).length > 0) return undefined;
  if (choice === "required" || given?.["type"] === "any") return first;
  // A choice without tools is an error at most providers.
  delete body["tools"];
  delete body["tool_choice"];
  delete body["parallel_tool_calls"];
  return undefined;
}

/** Takes tools that were left out of a list of allowed ones. */
function withoutLeftOut(
  body: JsonObject,
  choice: JsonObject,
  leftOut: ReadonlyMap<unknown, JsonObject>,
): JsonObject | undefined {
  const listed = arrayOf(choice["tools"]);
  const named = (entry: unknown) => leftOut.get(objectOf(entry)?.["type"]);
  const kept = listed.filter((entry) => named(entry) === undefined);
  if (kept.length === 0) return named(listed[0]);
  body["tool_choice"] = { ...choice, tools: kept };
  return undefined;
}
