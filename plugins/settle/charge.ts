import {
  type Call,
  type MicroVnd,
  type Posting,
  type Tariff,
  Usage,
} from "../../core/contract/index.ts";
import { priceOf, unitsUsed } from "./price.ts";

/**
 * What a call that was sent upstream costs.
 *
 * A whole reply costs its usage. What was delivered before a client left, a wallet ran out or an upstream broke
 * costs what was delivered. Refusals and calls that delivered nothing cost nothing, and a fixed price is not
 * taken for half a reply that the provider failed to finish.
 */
export function chargeOf(call: Call, tariff: Tariff): MicroVnd {
  if (call.status !== 200 || !call.delivered) return 0;
  if (call.outcome === "refused") return 0;
  if (call.outcome === "broken" && tariff.unit !== "mtok") return 0;
  return priceOf(unitsUsed(call.usage ?? new Usage(), tariff), tariff);
}

/** The usage record of a call, with its charge. Numbers and names only. */
export function postingOf(
  call: Call,
  costMicroVnd: MicroVnd,
  discountBps: number,
  nowMs: number,
): Posting {
  const usage = call.usage ?? new Usage();
  const isCharged = call.status === 200 && call.delivered;
  return {
    callId: call.id,
    accountId: call.key?.accountId ?? "",
    keyId: call.key?.id ?? "",
    at: call.at,
    endpoint: call.endpoint.path,
    model: call.model?.id ?? "",
    mappedFrom: call.mappedFrom,
    upstream: call.route?.upstream ?? null,
    inputTokens: isCharged ? usage.inputTokens : 0,
    cacheReadTokens: isCharged ? usage.cacheReadTokens : 0,
    cacheWriteTokens: isCharged ? usage.cacheWriteTokens : 0,
    outputTokens: isCharged ? usage.outputTokens : 0,
    reasoningTokens: isCharged ? usage.reasoningTokens : 0,
    images: isCharged ? usage.images : 0,
    costMicroVnd,
    discountBps,
    latencyMs: Math.round(nowMs - call.startedMs),
    firstByteMs: call.firstByteAtMs === 0 ? null : Math.round(call.firstByteAtMs - call.startedMs),
    status: call.status,
    streamed: call.stream,
    outcome: call.outcome ?? "complete",
    estimated: call.estimated,
  };
}
