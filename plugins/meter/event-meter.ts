import {
  type Call,
  Delivered,
  kindOf,
  type Outcome,
  type ServerEvent,
  type Sink,
  type Usage,
  type Wire,
} from "../../core/contract/index.ts";
import { type Factors, textTokens } from "./bound.ts";

/**
 * Reads usage from a stream as it passes and counts the delivered text, so that a stream that breaks off or reports no
 * usage can be charged for what was delivered.
 */
export class EventMeter implements Sink {
  private readonly call: Call;
  private readonly client: Sink;
  private readonly wire: Wire;
  private readonly usage: Usage;
  private readonly factors: Factors;
  /** Drops the event that only reports usage, because the client did not request it. */
  private readonly hidesUsage: boolean;
  private readonly delivered = new Delivered();
  /** Makes `whole`. */
  private readonly unstreamed: () => Sink;
  /** Set if the upstream replies to a streamed request with an unstreamed reply. */
  private whole: Sink | undefined = undefined;

  constructor(
    call: Call,
    client: Sink,
    wire: Wire,
    usage: Usage,
    factors: Factors,
    unstreamed: () => Sink,
    hidesUsage: boolean,
  ) {
    this.call = call;
    this.client = client;
    this.wire = wire;
    this.usage = usage;
    this.factors = factors;
    this.unstreamed = unstreamed;
    this.hidesUsage = hidesUsage;
  }

  head(status: number, headers: readonly string[]): void {
    this.client.head(status, headers);
  }

  event(event: ServerEvent): void {
    const { call, delivered, wire } = this;
    const onlyUsage = kindOf(event, wire) !== "data" && wire.readEvent(event, this.usage);
    wire.countDelta(event, delivered);
    if (delivered.any) {
      call.delivered = true;
      call.deliveredTokens = Math.ceil(textTokens(delivered, this.factors));
    }
    if (!(onlyUsage && this.hidesUsage)) this.client.event(event);
  }

  data(bytes: Uint8Array): void {
    this.whole ??= this.unstreamed();
    this.whole.data(bytes);
  }

  end(outcome: Outcome): void {
    if (this.whole) return this.whole.end(outcome);
    // A complete stream without any text counts as delivered, so its usage is charged.
    if (outcome.kind === "complete") this.call.delivered = true;
    this.client.end(outcome);
  }
}
