import type { JsonObject } from "../../../core/plugin/index.ts";
import type { MessagesRequest } from "../types.ts";
import type { Scope } from "./scope.ts";

/** Adds the sampling parameters that Messages has. The edits drop what the model does not take. */
export function addSampling(body: JsonObject, request: MessagesRequest, { notes }: Scope): void {
  const temperature = notes.number(body, "temperature", "temperature");
  const topP = notes.number(body, "top_p", "top_p");
  const topK = notes.number(body, "top_k", "top_k");
  // Clamps instead of scaling: 1 is the default in both protocols, and scaling would change it.
  if (temperature !== undefined) request.temperature = Math.min(1, Math.max(0, temperature));
  if (request.temperature !== temperature) notes.drop("temperature");
  if (topP !== undefined) request.top_p = topP;
  if (topK === undefined) return;
  if (Number.isInteger(topK)) request.top_k = topK;
  else notes.drop("top_k");
}
