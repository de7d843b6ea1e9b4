import {
  arrayOf,
  hasRoute,
  type JsonObject,
  type Model,
  mergeProfiles,
  objectOf,
  type Profile,
  type Services,
} from "../../core/plugin/index.ts";

/**
 * Returns true if a call of a Messages or Chat client should go out as Responses: it has tools and
 * thinks, and the model refuses both together in Chat.
 */
export function needsResponses(
  body: JsonObject,
  model: Model,
  { upstreams }: Pick<Services, "upstreams">,
): boolean {
  const offered = [...arrayOf(body["tools"]), ...arrayOf(body["functions"])];
  if (offered.length === 0) return false;
  return model.routes.some((route) => {
    const upstream = upstreams.get(route.upstream);
    const profile = mergeProfiles(upstream?.config.profile, route.profile);
    if (profile.tools_effort !== "responses" || !upstream?.speaks("responses")) return false;
    return thinks(body, profile);
  });
}

/** Returns true for a chat model whose upstreams speak Responses, and none of them Chat. */
export function speaksResponsesAlone(
  model: Model,
  { upstreams }: Pick<Services, "upstreams">,
): boolean {
  if (model.standard !== "chat" || hasRoute(model, "chat", upstreams)) return false;
  return hasRoute(model, "responses", upstreams);
}

/** Returns true if the model thinks in this call, in the fields of either protocol. */
function thinks(body: JsonObject, profile: Profile): boolean {
  const thinking = objectOf(body["thinking"])?.["type"];
  const effort = body["reasoning_effort"] ?? objectOf(body["output_config"])?.["effort"];
  if (effort === "none" || thinking === "disabled") return false;
  if (effort != null || thinking !== undefined) return true;
  return profile.thinking_default === "on";
}
