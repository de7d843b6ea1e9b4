import {
  type JsonObject,
  type Model,
  mergeProfiles,
  objectOf,
  type Services,
  type UpstreamRequest,
} from "../../core/contract/index.ts";

/** How long a call may go on after its client has left. */
interface LingerSettings {
  readonly when_client_leaves: "linger" | "cancel" | "drain";
  readonly linger_seconds: number;
  readonly linger_reasoning_seconds: number;
}

/**
 * Returns how long the upstream of a call may go on after its client has left, in milliseconds, so
 * that it can report what it bills. Reasoning that is not streamed cannot be counted here: its
 * report is waited for longer. A fixed price needs no report.
 */
export function lingerMsOf(
  model: Model,
  { body, protocol }: UpstreamRequest,
  settings: LingerSettings,
  upstreams: Services["upstreams"],
): number {
  if (settings.when_client_leaves === "cancel") return 0;
  if (settings.when_client_leaves === "drain") return Number.POSITIVE_INFINITY;
  if (model.price.unit !== "mtok") return 0;
  const isHidden =
    model.labels.has("reasoning") &&
    mayReason(body ?? {}, protocol) &&
    !streamsReasoning(model, upstreams);
  return (isHidden ? settings.linger_reasoning_seconds : settings.linger_seconds) * 1_000;
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
