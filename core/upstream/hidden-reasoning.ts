import type { Model, Route } from "../catalogue/catalogue.ts";
import { mergeProfiles, type Profile } from "../catalogue/profile.ts";
import type { UpstreamRequest } from "../plugin/call.ts";
import { arrayOf, type JsonObject, objectOf } from "../process/json.ts";

/** Returns true if a call may reason in tokens that its stream does not carry, on one of `routes`. */
export function hidesReasoning(
  model: Model,
  { protocol, body }: Pick<UpstreamRequest, "protocol" | "body">,
  routes: readonly Route[],
  profileOf: (upstream: string) => Profile | undefined,
): boolean {
  if (!model.labels.has("reasoning")) return false;
  const request = body?.outline ?? {};
  const wish = protocol === "messages" ? wishOfMessages(request) : wishOfOthers(request);
  return routes.some((route) => {
    const merged = mergeProfiles(profileOf(route.upstream), route.profile);
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
