import type { Call, Model, Services, UpstreamRequest } from "../../core/plugin/index.ts";

/** How long a call may continue after its client has left. */
interface LingerSettings {
  readonly when_client_leaves: "linger" | "cancel" | "drain";
  readonly linger_seconds: number;
  readonly linger_reasoning_seconds: number;
}

/**
 * Returns how long the upstream of a call may continue after its client has left, in milliseconds,
 * so that it can report what it bills. Only the provider can count what it does not stream, and it
 * bills that in full, so such a call runs to its end. Reasoning that is not streamed cannot be
 * counted here either, so the gateway waits longer for its report if the price depends on it.
 */
export function lingerMsOf(
  { stream, endpoint }: Pick<Call, "stream" | "endpoint">,
  model: Model,
  upstream: UpstreamRequest,
  settings: LingerSettings,
  upstreams: Services["upstreams"],
): number {
  if (settings.when_client_leaves === "cancel") return 0;
  // Translate may ask for a stream although its client does not.
  const isStreamed = stream || upstream.body?.outline["stream"] === true;
  const isWhole = !isStreamed || endpoint.comesAtEnd || endpoint.protocol === "speech";
  if (isWhole || settings.when_client_leaves === "drain") return Number.POSITIVE_INFINITY;
  // A price per call does not depend on what is counted.
  const isHidden = model.price.unit === "mtok" && upstreams.hidesReasoning(model, upstream);
  return (isHidden ? settings.linger_reasoning_seconds : settings.linger_seconds) * 1_000;
}
