import type { JsonObject } from "../../../../core/plugin/index.ts";
import type { ToolNames } from "../../names.ts";
import type { Notes } from "../../notes.ts";
import type { ChatProfile } from "../../profile.ts";
import type { MakerState } from "../../state/seal.ts";
import type { Marked } from "../../types.ts";

/** The state that all functions share which translate one request. */
export interface Scope {
  readonly profile: ChatProfile;
  readonly notes: Notes;
  readonly names: ToolNames;
  /** Opens the state of the model's maker. Without it, all thinking counts as the maker's. */
  readonly state: MakerState | undefined;
  /** True if Responses is written, which has fields that many Chat servers refuse. */
  readonly isResponses?: boolean;
}

/** Copies the cache mark of `from` to `to` if the upstream supports cache marks. */
export function mark<T extends Marked>(to: T, from: JsonObject, path: string, scope: Scope): T {
  const breakpoint = from["prompt_cache_breakpoint"];
  if (breakpoint !== undefined) {
    if (scope.isResponses) to.prompt_cache_breakpoint = breakpoint;
    else scope.notes.drop("prompt_cache_breakpoint");
  }
  if (from["cache_control"] === undefined || from["cache_control"] === null) return to;
  if (scope.profile.cache_control === "drop") {
    scope.notes.drop("cache_control");
    return to;
  }
  const cacheControl = scope.notes.object(from, "cache_control", `${path}.cache_control`);
  if (cacheControl) to.cache_control = cacheControl;
  return to;
}
