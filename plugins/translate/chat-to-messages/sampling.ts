import type { JsonObject } from "../../../core/contract/index.ts";
import type { MessagesRequest } from "../types.ts";
import type { Scope } from "./scope.ts";

/** A thinking model takes no `top_p` below this. */
const THINKING_TOP_P_MIN = 0.95;

/** Puts in as much of the sampling as the model takes; what it does not take is only a hint. */
export function addSampling(
  body: JsonObject,
  request: MessagesRequest,
  thinks: boolean,
  scope: Scope,
): void {
  const { notes, profile } = scope;
  const none = profile.sampling === "none";
  const given = {
    temperature: notes.number(body, "temperature", "temperature"),
    top_p: notes.number(body, "top_p", "top_p"),
    top_k: notes.number(body, "top_k", "top_k"),
  };
  // Clamped, not scaled: 1 is the default on both sides, and scaling would change ordinary requests.
  const temperature = given.temperature && Math.min(1, Math.max(0, given.temperature));
  const sampling = {
    temperature: none || thinks ? undefined : temperature,
    top_p: none || (thinks && (given.top_p ?? 0) < THINKING_TOP_P_MIN) ? undefined : given.top_p,
    top_k: none || thinks || !Number.isInteger(given.top_k) ? undefined : given.top_k,
  };
  const { top_p: topP } = sampling;
  if (profile.sampling === "one" && sampling.temperature !== undefined && topP !== undefined) {
    // A temperature at its default says nothing, so then the client meant the other one.
    const meant = sampling.temperature === 1 && topP < 1 ? "temperature" : "top_p";
    sampling[meant] = undefined;
  }
  for (const name of ["temperature", "top_p", "top_k"] as const) {
    const value = sampling[name];
    if (value !== undefined) request[name] = value;
    else if (given[name] !== undefined) notes.drop(name);
  }
}
