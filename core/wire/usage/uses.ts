import type { FeatureName } from "../../catalogue/features.ts";
import { arrayOf, countOf, type JsonObject, objectOf } from "../../process/json.ts";
import type { Usage } from "./usage.ts";

/** How providers report uses of what they charge by the use: a count in the usage, or an item of a Responses reply. */
const COUNTS: Readonly<Record<string, FeatureName>> = {
  // `usage.server_tool_use` of Messages; OpenRouter has it in Chat.
  web_search_requests: "web_search",
  web_fetch_requests: "web_fetch",
  code_execution_requests: "code_execution",
  tool_search_requests: "tool_search",
  // `usage.server_side_tool_usage_details` of xAI.
  web_search_calls: "web_search",
  x_search_calls: "web_search",
  code_interpreter_calls: "code_execution",
  file_search_calls: "file_search",
  document_search_calls: "file_search",
  mcp_calls: "mcp",
  // The total of xAI, if it gives no details.
  num_server_side_tools_used: "web_search",
  // `usage` of Perplexity, and of xAI's live search.
  num_search_queries: "web_search",
  num_sources_used: "web_search",
};

const ITEMS: Readonly<Record<string, FeatureName>> = {
  web_search_call: "web_search",
  file_search_call: "file_search",
  code_interpreter_call: "code_execution",
  image_generation_call: "image_generation",
  mcp_call: "mcp",
  computer_call: "computer",
  shell_call: "hosted_shell",
};

/** The places in which a provider counts each kind of use, even if that is 0. The second is OpenRouter's, the last xAI's. */
const ITEMISED = [
  ...["server_tool_use", "server_tool_use_details"],
  "server_side_tool_usage_details",
] as const;

/** Reads the counts of a reported usage. A later report overwrites an earlier one. */
export function readCountedUses(reported: JsonObject, usage: Usage): void {
  const uses: Uses = {};
  addCounts(objectOf(reported["server_tool_use"]), uses);
  // OpenRouter.
  if (!reported["server_tool_use"]) addCounts(objectOf(reported["server_tool_use_details"]), uses);
  addCounts(objectOf(reported["server_side_tool_usage_details"]), uses);
  for (const field of ["num_search_queries", "num_sources_used"]) addCount(field, reported, uses);
  if (Object.keys(uses).length === 0) addCount("num_server_side_tools_used", reported, uses);
  if (Object.keys(uses).length > 0) usage.uses = { ...usage.uses, ...uses };
}

type Uses = Partial<Record<FeatureName, number>>;

function addCounts(holder: JsonObject | undefined, uses: Uses): void {
  for (const field in holder) addCount(field, holder, uses);
}

function addCount(field: string, holder: JsonObject, uses: Uses): void {
  const feature = Object.hasOwn(COUNTS, field) ? COUNTS[field] : undefined;
  const count = countOf(holder[field]);
  if (feature && count) uses[feature] = (uses[feature] ?? 0) + count;
}

/**
 * Counts the items of a Responses reply that are uses, but for features whose uses the report itself counts: xAI charges
 * by that, and has no item for each of them.
 */
export function readUsedItems(
  output: unknown,
  reported: JsonObject | undefined,
  usage: Usage,
): void {
  let uses: Uses | undefined;
  for (const item of arrayOf(output)) {
    const feature = useOf(objectOf(item) ?? {});
    if (!feature || isItemised(feature, reported)) continue;
    uses ??= {};
    uses[feature] = (uses[feature] ?? 0) + 1;
  }
  if (uses) usage.uses = { ...usage.uses, ...uses };
}

/** Returns the feature that an item of a reply is a use of; undefined if it is none, or not charged. */
function useOf({ type, environment, action }: JsonObject): FeatureName | undefined {
  if (typeof type !== "string" || !Object.hasOwn(ITEMS, type)) return undefined;
  // A shell that the client runs has the environment `local`, or none.
  if (type === "shell_call" && (objectOf(environment)?.["type"] ?? "local") === "local") return;
  // OpenAI charges searches, not the pages that the model opens after them.
  if (type === "web_search_call" && (objectOf(action)?.["type"] ?? "search") !== "search") return;
  return ITEMS[type];
}

function isItemised(feature: FeatureName, reported: JsonObject | undefined): boolean {
  return ITEMISED.some((place) => {
    const counts = objectOf(reported?.[place]);
    return Object.keys(counts ?? {}).some((field) => COUNTS[field] === feature);
  });
}
