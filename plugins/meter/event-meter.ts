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
 * Reads usage from a reply: from a stream as it passes, from a whole one when it has ended.
 * Providers may send either, whatever was asked for. Counts the delivered text of a stream, so that
 * one that breaks off or reports no usage can be charged for it.
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
  /** Set if the reply is no stream, whatever was asked for. */
  private whole: Sink | undefined = undefined;
  private hasEvents = false;

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
    this.hasEvents = true;
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
    // An empty body is no stream either.
    if (!this.hasEvents) this.whole ??= this.unstreamed();
    if (this.whole) return this.whole.end(outcome);
    // A complete stream without any text counts as delivered, so its usage is charged.
    if (outcome.kind === "complete") this.call.delivered = true;
    this.client.end(outcome);
  }
}
