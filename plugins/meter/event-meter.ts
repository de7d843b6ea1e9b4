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
import { ReplyMeter } from "./reply-meter.ts";

/**
 * Reads usage out of a stream as it passes, and counts the text it delivers, so that a stream which breaks off
 * or reports nothing can still be charged for what came.
 */
export class EventMeter implements Sink {
  private readonly call: Call;
  private readonly client: Sink;
  private readonly wire: Wire;
  private readonly usage: Usage;
  private readonly factors: Factors;
  /** The client did not ask for the event that only reports usage, so it does not get it. */
  private readonly hidesUsage: boolean;
  private readonly delivered = new Delivered();
  /** A stream that was asked for may be answered with a whole reply all the same. */
  private whole: ReplyMeter | undefined = undefined;

  constructor(
    call: Call,
    client: Sink,
    wire: Wire,
    usage: Usage,
    factors: Factors,
    hidesUsage: boolean,
  ) {
    this.call = call;
    this.client = client;
    this.wire = wire;
    this.usage = usage;
    this.factors = factors;
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
    this.whole ??= new ReplyMeter(this.call, this.client, this.wire, this.usage, this.factors);
    this.whole.data(bytes);
  }

  end(outcome: Outcome): void {
    if (this.whole) return this.whole.end(outcome);
    // A whole stream without a word in it is a delivered one: its usage counts.
    if (outcome.kind === "complete") this.call.delivered = true;
    this.client.end(outcome);
  }
}
