import {
  arrayOf,
  type JsonObject,
  type Model,
  mergeProfiles,
  objectOf,
  type Profile,
  type Services,
  type UpstreamRequest,
} from "../../core/plugin/index.ts";

/**
 * Returns true if a call may reason in tokens that its stream does not carry, so that they cannot be
 * counted here while they are made. Any route of the model may serve the call.
 */
export function hidesReasoning(
  model: Model,
  upstream: UpstreamRequest,
  upstreams: Services["upstreams"],
): boolean {
  if (!model.labels.has("reasoning")) return false;
  const { protocol, body } = upstream;
  const request = body?.outline ?? {};
  const wish = protocol === "messages" ? wishOfMessages(request) : wishOfOthers(request);
  return model.routes.some((route) => {
    const { profile } = upstreams.get(route.upstream)?.config ?? {};
    const merged = mergeProfiles(profile, route.profile);
    return merged.streams_reasoning !== true && mayReason(wish, request, protocol, merged);
  });
}

/** Whether a request asks for reasoning; undefined if it leaves that to the model. */
type Wish = "on" | "off" | undefined;

function wishOfMessages(body: JsonObject): Wish {
  const type = objectOf(body["thinking"])?.["type"];
  return type === undefined ? undefined : type === "disabled" ? "off" : "on";
}

function wishOfOthers(body: JsonObject): Wish {
  const effort = body["reasoning_effort"] ?? objectOf(body["reasoning"])?.["effort"];
  const isOff =
    effort === "none" ||
    body["enable_thinking"] === false ||
    objectOf(body["thinking"])?.["type"] === "disabled";
  return isOff ? "off" : undefined;
}

/**
 * A model whose reasoning cannot be switched off reasons at its lowest effort, or between calls of
 * tools. If the request says nothing, models of Messages reason if their profile says so; for other
 * models this is assumed.
 */
function mayReason(
  wish: Wish,
  request: JsonObject,
  protocol: UpstreamRequest["protocol"],
  { thinking_off: off, thinking_default: byDefault }: Profile,
): boolean {
  if (wish === "on") return true;
  if (wish === undefined) return protocol !== "messages" || byDefault === "on";
  return off === "lowest" || (off === "between_tools" && arrayOf(request["tools"]).length > 0);
}
