import { EFFORT_LEVELS, type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import type { Notes } from "../../notes.ts";
import type { MessagesRequest } from "../../types.ts";

/** Returns true if the client wants to read the reasoning, as a summary. */
export function showsReasoning(body: JsonObject): boolean {
  const reasoning = objectOf(body["reasoning"]);
  const wanted = reasoning?.["summary"] ?? reasoning?.["generate_summary"] ?? null;
  return wanted !== null && wanted !== "none";
}

/** Adds effort and thinking. Without either field, the model's default counts. */
export function addReasoning(request: MessagesRequest, body: JsonObject, notes: Notes): void {
  const reasoning = notes.object(body, "reasoning", "reasoning");
  const effort = reasoning?.["effort"] ?? undefined;
  for (const field of ["context", "mode"]) {
    if (reasoning?.[field] != null) notes.drop(`reasoning.${field}`);
  }
  if (effort === "none") {
    request.thinking = { type: "disabled" };
    return;
  }
  const level = EFFORT_LEVELS.find((known) => known === effort);
  if (effort !== undefined && level === undefined) {
    notes.invalid("reasoning.effort", "is not a known effort level");
  }
  if (level !== undefined) request.output_config = { ...request.output_config, effort: level };
  const isShown = showsReasoning(body);
  if (level === undefined && !isShown) return;
  request.thinking = { type: "adaptive", ...(isShown && { display: "summarized" }) };
}
