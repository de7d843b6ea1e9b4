import type { JsonObject } from "../../../core/plugin/index.ts";
import type { MessagesRequest } from "../types.ts";
import type { Scope } from "./scope.ts";

/** Minimum `top_p` with thinking: the upstream refuses a smaller one. */
const THINKING_TOP_P_MIN = 0.95;

/** Adds the sampling parameters that the model accepts. Drops the others, which are only hints. */
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
  // Clamps instead of scaling: 1 is the default in both protocols, and scaling would change it.
  const temperature = given.temperature && Math.min(1, Math.max(0, given.temperature));
  const sampling = {
    temperature: none || thinks ? undefined : temperature,
    top_p: none || (thinks && (given.top_p ?? 0) < THINKING_TOP_P_MIN) ? undefined : given.top_p,
    top_k: none || thinks || !Number.isInteger(given.top_k) ? undefined : given.top_k,
  };
  const { top_p: topP } = sampling;
  if (profile.sampling === "one" && sampling.temperature !== undefined && topP !== undefined) {
    // If the temperature has its default, the client meant `top_p`.
    const meant = sampling.temperature === 1 && topP < 1 ? "temperature" : "top_p";
    sampling[meant] = undefined;
  }
  for (const name of ["temperature", "top_p", "top_k"] as const) {
    const value = sampling[name];
    if (value !== undefined) request[name] = value;
    else if (given[name] !== undefined) notes.drop(name);
  }
}
