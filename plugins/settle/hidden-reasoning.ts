import {
  type JsonObject,
  type Model,
  mergeProfiles,
  objectOf,
  type Services,
  type UpstreamRequest,
} from "../../core/contract/index.ts";

/**
 * Returns true if a call may reason in tokens that its stream does not carry, so that they cannot be
 * counted here while they are made.
 */
export function hidesReasoning(
  model: Model,
  { body, protocol }: UpstreamRequest,
  upstreams: Services["upstreams"],
): boolean {
  return (
    model.labels.has("reasoning") &&
    mayReason(body ?? {}, protocol) &&
    !streamsReasoning(model, upstreams)
  );
}

/** Messages models think only if they are asked to. The others do unless they are asked not to. */
function mayReason(body: JsonObject, protocol: UpstreamRequest["protocol"]): boolean {
  if (protocol !== "messages") {
    const effort = body["reasoning_effort"] ?? objectOf(body["reasoning"])?.["effort"];
    return effort !== "none";
  }
  const type = objectOf(body["thinking"])?.["type"];
  return type !== undefined && type !== "disabled";
}

function streamsReasoning(model: Model, upstreams: Services["upstreams"]): boolean {
  return model.routes.every((route) => {
    const { profile } = upstreams.get(route.upstream)?.config ?? {};
    return mergeProfiles(profile, route.profile).streams_reasoning === true;
  });
}
