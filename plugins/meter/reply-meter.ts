import {
  type Call,
  Delivered,
  type Outcome,
  objectOf,
  parseJson,
  refuse,
  type ServerEvent,
  type Sink,
  type Usage,
  type Wire,
} from "../../core/contract/index.ts";
import type { UsageCheck } from "./believable.ts";
import { type Factors, textTokens } from "./bound.ts";

/** Reads usage from an unstreamed JSON reply; sets `call.replyBody`. Passes audio without counting it. */
export class ReplyMeter implements Sink {
  private readonly call: Call;
  private readonly client: Sink;
  private readonly wire: Wire;
  private readonly usage: Usage;
  private readonly factors: Factors;
  private readonly check: UsageCheck;
  private readonly chunks: Uint8Array[] = [];

  constructor(
    call: Call,
    client: Sink,
    wire: Wire,
    usage: Usage,
    factors: Factors,
    check: UsageCheck,
  ) {
    this.call = call;
    this.client = client;
    this.wire = wire;
    this.usage = usage;
    this.factors = factors;
    this.check = check;
  }

  head(status: number, headers: readonly string[]): void {
    this.client.head(status, headers);
  }

  event(event: ServerEvent): void {
    // Speech can arrive as events even if `stream` is not set.
    if (this.wire.protocol === "speech") {
      this.call.delivered = true;
      this.wire.readEvent(event, this.usage);
    }
    this.client.event(event);
  }

  data(bytes: Uint8Array): void {
    if (this.wire.protocol === "speech") this.call.delivered = true;
    else this.chunks.push(bytes);
    this.client.data(bytes);
  }

  end(outcome: Outcome): void {
    const read = outcome.kind === "complete" && this.wire.protocol !== "speech";
    this.client.end(read && !this.read() ? NOT_A_REPLY : outcome);
  }

  /** Returns false if the upstream replied 200 with a body that is not a reply of its protocol. */
  private read(): boolean {
    const [first] = this.chunks;
    const bytes =
      this.chunks.length === 1 && first
        ? Buffer.from(first.buffer, first.byteOffset, first.byteLength)
        : Buffer.concat(this.chunks);
    const reply = objectOf(parseJson(bytes.toString("utf8")));
    if (!reply || (reply["error"] != null && reply["usage"] === undefined)) return false;
    this.call.replyBody = reply;
    this.call.delivered = true;
    this.wire.readReply(reply, this.usage);
    this.check(this.call);
    if (!this.usage.outputReported) {
      const delivered = new Delivered();
      this.wire.countReply(reply, delivered);
      this.call.deliveredTokens = Math.ceil(textTokens(delivered, this.factors));
    }
    return true;
  }
}

const NOT_A_REPLY: Outcome = {
  kind: "broken",
  refusal: refuse.upstreamFailed(
    "The upstream provider sent an invalid reply. Nothing was charged; try again.",
  ),
  truncated: false,
  errorSent: false,
};
