import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { lastMarker } from "../provider/find-directive.ts";
import { callsOf } from "./chat-turns.ts";
import { blocksOf } from "./message-turns.ts";
import { type Facts, objects, text } from "./rule.ts";
import { readCompaction } from "./state.ts";

/** A call that a script asks for. */
interface ScriptedCall {
  readonly name: string;
  readonly arguments: JsonObject | string;
}

/**
 * Returns the calls that the last `[[steps …]]` of a user, or of a summary, asks for now: a list of steps, each a list of
 * calls `{"name": "read", "arguments": {…}}`. A list of calls instead of one names alternatives, and
 * the first that `names` offers counts. Undefined without a script, and empty at its end.
 */
export function scriptedCalls(
  { family, protocol, turns }: Facts,
  names: ReadonlySet<string>,
): readonly ScriptedCall[] | undefined {
  const from = turns.findLastIndex((turn) => scriptIn(turn, family) !== undefined);
  const script = scriptIn(turns[from] ?? {}, family);
  if (!Array.isArray(script)) return undefined;
  const later = turns.slice(from + 1);
  let made =
    protocol === "responses"
      ? later.filter(isItemCall).length
      : later.reduce((sum, turn) => sum + callsIn(turn), 0);
  for (const step of script) {
    const calls = scripted(step, names);
    if (made < calls.length) return calls.slice(made);
    made -= calls.length;
  }
  return [];
}

function scriptIn(turn: JsonObject, family: Facts["family"]): unknown {
  if (turn["type"] === "compaction") {
    return lastMarker(readCompaction(family, turn["encrypted_content"]) ?? "", "steps");
  }
  if (turn["role"] !== "user") return undefined;
  return lastMarker(
    blocksOf(turn)
      .map((block) => text(block["text"]))
      .join("\n"),
    "steps",
  );
}

/** Returns true for an item of Responses that is a call. */
export function isItemCall({ type }: JsonObject): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

function callsIn(turn: JsonObject): number {
  return callsOf(turn).length + blocksOf(turn).filter(({ type }) => type === "tool_use").length;
}

function scripted(step: unknown, names: ReadonlySet<string>): ScriptedCall[] {
  return (Array.isArray(step) ? (step as unknown[]) : []).flatMap((call) => {
    const alternatives = Array.isArray(call) ? objects(call) : isObject(call) ? [call] : [];
    const found = alternatives.find(({ name }) => names.has(text(name)));
    if (!found) return [];
    const given = found["arguments"];
    return [
      {
        name: text(found["name"]),
        arguments: typeof given === "string" ? given : isObject(given) ? given : {},
      },
    ];
  });
}
