import {
  type Call,
  contentTypeOf,
  formatVnd,
  type Held,
  type Model,
  priceOf,
  type Sink,
  tariffOf,
  unitPriceOf,
} from "../../core/contract/index.ts";

/** Shows the unit price of a call, with the factor of the features that it uses. */
export function pushPrice(call: Call, model: Model, prefix: string): void {
  const price = tariffOf(model, 0, [], 0, call.surcharge?.factor);
  const shown = formatVnd(unitPriceOf(price));
  const name = {
    mtok: "price-vnd-per-mtok",
    call: "price-vnd-per-request",
    image: "price-vnd-per-image",
  };
  call.replyHeaders.push(prefix + name[price.unit], shown);
  // The interface names one header for every fixed price.
  if (price.unit === "image") call.replyHeaders.push(prefix + name.call, shown);
}

/** Adds the cost to the headers of audio. They leave before the call is charged, but the cost is known by then. */
export class PricedHead implements Sink {
  private readonly call: Call;
  private readonly client: Sink;
  private readonly held: Held | undefined;
  private readonly prefix: string;

  constructor(call: Call, client: Sink, held: Held | undefined, prefix: string) {
    this.call = call;
    this.client = client;
    this.held = held;
    this.prefix = prefix;
  }

  head(status: number, headers: readonly string[]): void {
    // A JSON body is an error, which costs nothing.
    if (status === 200 && this.held && !contentTypeOf(headers).includes("json")) {
      const cost = priceOf(this.held.baseUnits, this.held.tariff);
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
