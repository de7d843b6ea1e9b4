import {
  type Call,
  countedUsage,
  MICRO_VND_PER_VND,
  type MicroVnd,
  type Services,
  type Tariff,
  Usage,
} from "../../core/plugin/index.ts";
import { imagesOf } from "./bounds.ts";
import { otherPasses } from "./passes.ts";

export type Wallets = Services["wallets"]["current"];

/** The fields of a posted call that say what it costs and why. */
export type Charge = ReturnType<Tariff["chargeOf"]>;

/**
 * Returns the charge of a call, whatever its usage says: if its cost cannot be expressed, the charge of what was held
 * for it. So a call that was served always ends in a charge. Calls `onFault` with the error in that case.
 */
export function certainCharge(
  call: Call,
  held: NonNullable<Call["held"]>,
  onFault: (error: unknown) => void,
): Charge {
  try {
    fillInImages(call, held);
    const others = otherPasses(call, held);
    return held.tariff.chargeOf(call, feesOf(call) + others.microVnd, others.usage);
  } catch (error) {
    onFault(error);
    const { unit, factors } = held.tariff;
    const usage = new Usage();
    if (unit === "image") usage.images = held.baseQuantity / factors.per_image;
    else usage.inputTokens = Math.floor(held.baseQuantity / factors.input);
    usage.outputTokens = held.outputTokens;
    call.usage = usage;
    call.estimated = true;
    return held.tariff.chargeOf(call, held.feesMicroVnd);
  }
}

/** A call that was cancelled after its client had left costs the images that it asked for. */
function fillInImages(call: Call, { tariff }: NonNullable<Call["held"]>): void {
  if (call.outcome !== "gone" || tariff.unit !== "image" || !call.taken || !call.usage) return;
  call.usage.images = imagesOf(call);
  call.estimated = true;
}

/** Returns the fees of the features that the provider reports as used. */
function feesOf({ surcharge, usage }: Call): MicroVnd {
  let feesVnd = 0;
  for (const [feature, feeVnd] of surcharge?.fees ?? []) {
    feesVnd += (usage?.uses?.[feature] ?? 0) * feeVnd;
  }
  return feesVnd * MICRO_VND_PER_VND;
}

/** Returns the usage record of a call with its charge: only numbers and names, no content. */
export function postingOf(
  call: Call,
  charge: Charge,
  providerCostMicroVnd: MicroVnd | null,
  monotonicMs: number,
): Parameters<Wallets["post"]>[0] {
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
    factors: charge.factors,
    quantity: charge.quantity,
    discountBps: charge.discountBps,
    discounts: charge.discounts,
    feesMicroVnd: charge.feesMicroVnd,
    costMicroVnd: charge.costMicroVnd,
    catalogueVersion: charge.catalogueVersion,
    purses: call.purses.length > 0 ? call.purses.map(({ name }) => name) : null,
    providerCostMicroVnd,
    heldMicroVnd: call.heldMicroVnd,
  };
}
