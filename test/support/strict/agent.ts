import type { JsonObject } from "../../../core/process/json.ts";
import { sampleArguments } from "../../../plugins/simulator/sample.ts";
import type { Directive } from "../provider/directive.ts";
import { qwenThinks } from "./alibaba.ts";
import { claudeThinks } from "./anthropic-thinking.ts";
import { callsOf } from "./chat-turns.ts";
import { blocksOf } from "./message-turns.ts";
import { kimiThinks } from "./moonshot.ts";
import { type Facts, objectIn, objects, text } from "./rule.ts";
import { isItemCall, scriptedCalls } from "./steps.ts";

/** Fields of a directive that say what the model replies. */
const REPLIES: readonly (keyof Directive)[] = [
  ...(["text", "thinking", "tools", "refusal", "output_tokens", "echo", "total_bytes"] as const),
  ...(["reply", "stop", "giant_event_bytes", "text_after", "redacted_thinking"] as const),
];

/** Calls of each step of a turn. Then the model replies with text. */
const CALLS_OF_STEP = [2, 1];

const THOUGHT = "The task needs a tool, so I call it and read its result.";

/**
 * Adds the default behaviour of a model with tools: it thinks and calls two tools at once, then
 * one, or follows a script in the prompt. Then it replies with text. A directive that sets a reply
 * overrides this.
 */
export function agentScript(given: Directive, facts: Facts): Directive {
  const names = callable(facts);
  if (names.length === 0 || REPLIES.some((field) => given[field] !== undefined)) return given;
  const scripted = scriptedCalls(facts, new Set(names.map(({ name }) => name)));
  if (scripted) {
    const all = scripted.flatMap((call) => {
      const tool = names.find(({ name }) => name === call.name);
      return tool ? [{ tool, arguments: call.arguments }] : [];
    });
    return called(given, facts, parallel(facts) ? all : all.slice(0, 1));
  }
  const step = stepsOf(facts);
  const calls = parallel(facts) ? (CALLS_OF_STEP[step] ?? 0) : step < 2 ? 1 : 0;
  const tools = Array.from({ length: calls }, (_, at) => {
    const tool = names[at % names.length] ?? { name: "", schema: {} };
    const salt = `${step}.${at}`;
    return {
      tool,
      arguments: tool.custom ? `value ${salt}` : sampleArguments(tool.schema, `value ${salt}`),
    };
  });
  return called(given, facts, tools);
}

function called(
  given: Directive,
  facts: Facts,
  calls: readonly { readonly tool: Callable; readonly arguments: JsonObject | string }[],
): Directive {
  if (calls.length === 0) return given;
  const tools = calls.map(({ tool: { name, namespace, custom }, arguments: passed }) => ({
    ...{ name, arguments: passed },
    ...(namespace !== undefined && { namespace }),
    ...(custom && { custom }),
  }));
  return { ...given, tools, ...(thinks(facts) ? { thinking: THOUGHT } : {}) };
}

interface Callable {
  readonly name: string;
  readonly schema: JsonObject;
  readonly namespace?: string;
  readonly custom?: true;
}

/** The functions that the model may call here. */
function callable({ tools: given, turns, body }: Facts): Callable[] {
  const added = turns.filter(({ type }) => type === "additional_tools");
  const tools = [...given, ...added.flatMap((item) => objects(item["tools"]))];
  const choice = body["tool_choice"];
  if (choice === "none" || objectIn(body, "tool_choice")?.["type"] === "none") return [];
  const all = tools.flatMap(functionsIn);
  const demanded = objectIn(body, "tool_choice");
  const name = objectIn(demanded ?? {}, "function")?.["name"] ?? demanded?.["name"];
  return name === undefined ? all : all.filter((tool) => tool.name === name);
}

function functionsIn(tool: JsonObject): Callable[] {
  const { type } = tool;
  if (type === "namespace") {
    const namespace = text(tool["name"]);
    return objects(tool["tools"]).flatMap((inner) =>
      functionsIn(inner).map((one) => ({ ...one, namespace })),
    );
  }
  const called = objectIn(tool, "function") ?? tool;
  if (type !== undefined && type !== "function" && type !== "custom") return [];
  const schema = objectIn(called, "parameters") ?? objectIn(called, "input_schema");
  const name = text(called["name"]);
  // A custom tool of Messages has a schema, one of Responses takes text.
  return [
    schema || type !== "custom"
      ? { name, schema: schema ?? {} }
      : { name, schema: {}, custom: true },
  ];
}

function parallel({ body }: Facts): boolean {
  if (objectIn(body, "tool_choice")?.["disable_parallel_tool_use"] === true) return false;
  return body["parallel_tool_calls"] !== false;
}

/** Counts the steps with calls after the last turn of the user. */
function stepsOf({ protocol, turns }: Facts): number {
  let steps = 0;
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at] ?? {};
    // In Chat, images of results come right behind them, as the user's.
    if (isOfUser(turn) && turns[at - 1]?.["role"] !== "tool") break;
    if (protocol === "responses") {
      const before = turns[at - 1];
      if (isItemCall(turn) && !(before && isItemCall(before))) steps++;
    } else if (callsOf(turn).length > 0 || blocksOf(turn).some(isUse)) steps++;
  }
  return steps;
}

function isUse({ type }: JsonObject): boolean {
  return type === "tool_use";
}

/** Returns true for a turn of the user that brings no results. */
function isOfUser(turn: JsonObject): boolean {
  if (turn["role"] !== "user") return false;
  return !blocksOf(turn).some(({ type }) => type === "tool_result");
}

function thinks(facts: Facts): boolean {
  const { family, model } = facts;
  switch (family) {
    case "anthropic":
      return claudeThinks(facts) && !(hasBudget(facts) && stepsOf(facts) > 0);
    case "openai":
      return facts.protocol === "responses" && /^(gpt-5|o[0-9])/.test(model);
    case "moonshot":
      return kimiThinks(facts);
    case "alibaba":
      return qwenThinks(facts);
    case "deepseek":
    case "zai":
    case "minimax":
      return text(objectIn(facts.body, "thinking")?.["type"]) !== "disabled";
    case "xai":
      return true;
    default:
      return false;
  }
}

/** Without interleaved thinking, Claude thinks only before the first call of a turn. */
function hasBudget({ body }: Facts): boolean {
  return objectIn(body, "thinking")?.["type"] === "enabled";
}
