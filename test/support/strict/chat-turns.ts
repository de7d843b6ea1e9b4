import type { JsonObject } from "../../../core/process/json.ts";
import { type Facts, objectIn, objects, text } from "./rule.ts";

/** Calls and results of a Chat conversation that do not belong together. */
interface Unpaired {
  /** Ids of the calls of one message that have no result right behind it. */
  readonly calls: readonly string[];
  /** A result that follows no call with its id. */
  readonly result: string | undefined;
}

export function callsOf(turn: JsonObject): JsonObject[] {
  return turn["role"] === "assistant" ? objects(turn["tool_calls"]) : [];
}

/** Returns the first calls without results, or the first result without a call. */
export function unpaired({ turns }: Facts): Unpaired | undefined {
  let open = new Set<string>();
  for (const turn of turns) {
    if (turn["role"] === "tool") {
      const id = text(turn["tool_call_id"]);
      if (!open.delete(id)) return { calls: [], result: id };
      continue;
    }
    if (open.size > 0) return { calls: [...open], result: undefined };
    open = new Set(callsOf(turn).map((call) => text(call["id"])));
  }
  return open.size > 0 ? { calls: [...open], result: undefined } : undefined;
}

/** Returns the assistant messages after the last one of the user: the steps of the running turn. */
export function runningSteps({ turns }: Facts): JsonObject[] {
  const start = turns.findLastIndex((turn) => turn["role"] === "user");
  return turns.slice(start + 1).filter((turn) => turn["role"] === "assistant");
}

/** Returns all content parts, with the role of their message. */
export function partsOf({ turns }: Facts): { role: unknown; part: JsonObject }[] {
  return turns.flatMap((turn) =>
    objects(turn["content"]).map((part) => ({ role: turn["role"], part })),
  );
}

/** Returns the type of the first part that is none of `types`. */
export function foreignPart(facts: Facts, ...types: readonly string[]): string | undefined {
  const found = partsOf(facts).find(({ part }) => !types.includes(text(part["type"])));
  return found && text(found.part["type"]);
}

export function hasRole({ turns }: Facts, role: string): boolean {
  return turns.some((turn) => turn["role"] === role);
}

/** Returns true if the request demands a call. */
export function forcesTool({ body }: Facts): boolean {
  const choice = body["tool_choice"];
  if (choice === "required") return true;
  return typeof choice === "object" && choice !== null && "function" in choice;
}

export function thinkingType({ body }: Facts): string {
  return text(objectIn(body, "thinking")?.["type"]);
}

/** Returns the maximum output tokens that the request allows. */
export function capOf({ body }: Facts): number {
  const cap = body["max_completion_tokens"] ?? body["max_tokens"];
  return typeof cap === "number" ? cap : 0;
}

export function schemasOf({ tools }: Facts): JsonObject[] {
  return tools.flatMap((tool) => {
    const schema = objectIn(objectIn(tool, "function") ?? {}, "parameters");
    return schema ? [schema] : [];
  });
}
