import type { Call, UpstreamRequest } from "./call.ts";
import type { Model } from "./catalogue.ts";
import type { Protocol } from "./protocol.ts";
import { type Refusal, refuse } from "./refusal.ts";

/** Client headers that are part of the request itself, by protocol. Each is a list of betas. */
export const FORWARDED_HEADERS: Readonly<Record<Protocol, readonly string[]>> = {
  messages: ["anthropic-beta"],
  chat: ["openai-beta"],
  responses: ["openai-beta"],
  images: [],
  speech: [],
};

/** Returns the unchanged request, for an upstream that speaks the endpoint's protocol. */
export function unchangedRequest(call: Call): UpstreamRequest {
  const { protocol, upstreamPath } = call.endpoint;
  return {
    protocol,
    path: upstreamPath,
    body: call.body,
    form: undefined,
    headers: call.betaHeaders,
    bodyFor: undefined,
    outputLimit: undefined,
    wantsUsage: false,
  };
}

/**
 * Refuses a model that does not take the endpoint's protocol, and names the path that serves it.
 */
export function servedElsewhere(model: Model, path: string, instead: string): Refusal {
  return refuse.badRequest(`model: ${model.id} is not served on ${path}: use ${instead}`, "model");
}
