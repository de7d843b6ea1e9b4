import {
  type Call,
  contentTypeOf,
  countedUsage,
  formatVnd,
  type Sink,
  statedOf,
  type Tariff,
} from "../../core/plugin/index.ts";
import type { Charge, Wallets } from "./posting.ts";

const PRICE_NAMES = {
  mtok: "price-vnd-per-mtok",
  call: "price-vnd-per-request",
  image: "price-vnd-per-image",
} as const;

/**
 * Shows the price that applies to a call, so that its headers add up: units × price + fees - the written-off part =
 * cost. The units are tokens, calls or images, each times its factor. It includes the factor of the features that the call uses and the discount, which has a header of its own.
 */
export function pushPrice(call: Call, tariff: Tariff, prefix: string): void {
  const { unit, discountBps } = tariff;
  const shown = formatVnd(tariff.priceOf(tariff.unitQuantity));
  call.replyHeaders.push(prefix + PRICE_NAMES[unit], shown);
  // The documented interface has one header for every fixed price.
  if (unit === "image") call.replyHeaders.push(prefix + PRICE_NAMES.call, shown);
  const stated = statedOf(tariff.factors);
  if (stated) call.replyHeaders.push(`${prefix}price-factors`, factorsText(stated));
  if (discountBps > 0) call.replyHeaders.push(`${prefix}discount-bps`, String(discountBps));
}

/** Returns `cached_input=0.1, output=4`. */
function factorsText(stated: NonNullable<Charge["factors"]>): string {
  return Object.entries(stated)
    .map(([kind, factor]) => `${kind}=${factor}`)
    .join(", ");
}

/** Shows the cost of a call, and the parts of it that are not input and output × price. */
export function pushCost(
  call: Call,
  charge: Charge,
  posted: Awaited<ReturnType<Wallets["post"]>>,
  prefix: string,
): void {
  const { replyHeaders } = call;
  if (charge.factors && charge.unit === "mtok") {
    const { cacheReadTokens: read, cacheWriteTokens: written } = countedUsage(call);
    replyHeaders.push(`${prefix}cached-input-tokens`, String(read));
    replyHeaders.push(`${prefix}cache-write-tokens`, String(written));
  }
  const fees = charge.feesMicroVnd ?? 0;
  const writtenOff = posted.writtenOffMicroVnd;
  if (fees > 0) replyHeaders.push(`${prefix}fees-vnd`, formatVnd(fees));
  if (writtenOff > 0) replyHeaders.push(`${prefix}written-off-vnd`, formatVnd(writtenOff));
  replyHeaders.push(`${prefix}cost-vnd`, formatVnd(posted.chargedMicroVnd));
}

/** Adds the cost to the headers of audio. They leave before the call is charged, but the cost is known by then. */
export class PricedHead implements Sink {
  constructor(
    private readonly call: Call,
    private readonly client: Sink,
    private readonly held: NonNullable<Call["held"]> | undefined,
    private readonly prefix: string,
  ) {}

  head(status: number, headers: readonly string[]): void {
    // A JSON body is an error, which costs nothing.
    if (status === 200 && this.held && !contentTypeOf(headers).includes("json")) {
      const cost = this.held.tariff.priceOf(this.held.baseQuantity);
      this.call.replyHeaders.push(`${this.prefix}cost-vnd`, formatVnd(cost));
    }
    this.client.head(status, headers);
  }

  event(...[event]: Parameters<Sink["event"]>): void {
    this.client.event(event);
  }

  data(bytes: Uint8Array): void {
    this.client.data(bytes);
  }

  end(...[outcome]: Parameters<Sink["end"]>): void {
    this.client.end(outcome);
  }
}
