import { type Call, type Charge, countedUsage, type Posting } from "../../core/contract/index.ts";

/** Returns the usage record of a call with its charge: only numbers and names, no content. */
export function postingOf(call: Call, charge: Charge, monotonicMs: number): Posting {
  const usage = countedUsage(call);
  return {
    callId: call.id,
    accountId: call.key?.accountId ?? "",
    keyId: call.key?.id ?? "",
    at: call.at,
    endpoint: call.endpoint.path,
    model: call.model?.id ?? "",
    mappedFrom: call.mappedFrom,
    upstream: call.route?.upstream ?? null,
    inputTokens: usage.inputTokens,
    cacheReadTokens: usage.cacheReadTokens,
    cacheWriteTokens: usage.cacheWriteTokens,
    outputTokens: usage.outputTokens,
    reasoningTokens: usage.reasoningTokens,
    images: usage.images,
    latencyMs: Math.round(monotonicMs - call.startedMs),
    firstByteMs: call.firstByteAtMs === 0 ? null : Math.round(call.firstByteAtMs - call.startedMs),
    status: call.status,
    streamed: call.stream,
    outcome: call.outcome ?? "complete",
    estimated: call.estimated,
    unit: charge.unit,
    unitPriceMicroVnd: charge.unitPriceMicroVnd,
    quantity: charge.quantity,
    discountBps: charge.discountBps,
    discounts: charge.discounts,
    feesMicroVnd: charge.feesMicroVnd,
    costMicroVnd: charge.costMicroVnd,
    catalogueVersion: charge.catalogueVersion,
    operatorCostMicro: charge.operatorCostMicro,
    operatorCurrency: charge.operatorCurrency,
    operatorRateMicroVnd: charge.operatorRateMicroVnd,
    costsVersion: charge.costsVersion,
    limits: call.limits.length > 0 ? limitNames(call) : null,
  };
}

/** Returns the names of the limits beside the wallet that a call counts against. */
export function limitNames({ limits }: Call): string[] {
  return limits.map(({ name }) => name);
}
