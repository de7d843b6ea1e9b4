import type { Posting } from "../../core/contract/hold-store.ts";

/** A call that cost something, with every other field as it mostly is. */
export function posting(call: Partial<Posting> & Pick<Posting, "callId" | "accountId">): Posting {
  return {
    keyId: "01900000-0000-7000-8000-00000000aaaa",
    at: Date.UTC(2025, 5, 15, 12),
    endpoint: "/v1/messages",
    model: "sim-large",
    mappedFrom: null,
    upstream: "main",
    inputTokens: 1_200,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 340,
    reasoningTokens: 0,
    images: 0,
    costMicroVnd: 0,
    discountBps: 0,
    latencyMs: 812.5,
    firstByteMs: 120,
    status: 200,
    streamed: true,
    outcome: "complete",
    estimated: false,
    unit: null,
    unitPriceMicroVnd: null,
    quantity: null,
    discounts: null,
    feesMicroVnd: null,
    catalogueVersion: null,
    operatorCostMicro: null,
    operatorCurrency: null,
    operatorRateMicroVnd: null,
    costsVersion: null,
    ...call,
  };
}
