import { isObject, type JsonObject, type Profile } from "../../../core/plugin/index.ts";
import type { ToolNames } from "../names.ts";
import type { Notes } from "../notes.ts";
import type { Marked } from "../types.ts";

/** The state that all functions share which translate one request. */
export interface Scope {
  readonly profile: Profile;
  readonly notes: Notes;
  readonly names: ToolNames;
  /** True if the request goes to an upstream of Messages, and is not translated further. */
  readonly isLast: boolean;
  /** The client's tools whose arguments are plain text. */
  readonly textTools?: ReadonlySet<string>;
}

/** Copies the cache mark of `from`, in either of its forms, to `to`. */
export function mark<T extends Marked>(to: T, from: JsonObject, path: string, scope: Scope): T {
  const found = markOf(from, path, scope);
  if (found) to.cache_control = found;
  const breakpoint = from["prompt_cache_breakpoint"];
  if (!scope.isLast && isGiven(breakpoint)) to.prompt_cache_breakpoint = breakpoint;
  return to;
}

export function markOf(from: JsonObject, path: string, scope: Scope): JsonObject | undefined {
  const found = scope.notes.object(from, "cache_control", `${path}.cache_control`);
  if (found) return withoutNulls(found);
  const breakpoint = from["prompt_cache_breakpoint"];
  if (!scope.isLast || !isGiven(breakpoint)) return undefined;
  // Longer ones cost more.
  if (isObject(breakpoint) && isGiven(breakpoint["ttl"])) {
    scope.notes.drop("prompt_cache_breakpoint.ttl");
  }
  return { type: "ephemeral" };
}

/** Returns true if a value is present. Null counts as absent everywhere in a Chat request. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Returns a copy without nulls. Recursive: the object must not be deep. */
export function withoutNulls(object: JsonObject): JsonObject {
  const kept = Object.entries(object).filter(([, value]) => isGiven(value));
  return Object.fromEntries(kept.map(([key, value]) => [key, cleaned(value)]));
}

function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(isGiven).map(cleaned);
  return isObject(value) ? withoutNulls(value) : value;
}
