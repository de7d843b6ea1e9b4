import {
  type Call,
  contentTypeOf,
  Delivered,
  type Outcome,
  objectOf,
  type Protocol,
  parseJson,
  refuse,
  type ServerEvent,
  type Services,
  type Sink,
  type Usage,
} from "../../core/plugin/index.ts";
import type { Factors } from "./bound.ts";
import { outputTokensOf } from "./estimate.ts";
import type { UsageCheck } from "./implausible.ts";
import { ShortTexts } from "./short-texts.ts";

/** A body, or a stream, that is no reply of its protocol. Core has handled the errors that it may state. */
export const INVALID: Outcome = {
  kind: "broken",
  refusal: refuse.upstreamFailed(
    "The upstream provider sent an invalid reply. Nothing was charged; try again.",
  ),
  truncated: false,
  errorSent: false,
};

/** Reads usage from an unstreamed JSON reply; sets `call.replyBody`. Passes audio without counting it. */
export class ReplyMeter implements Sink {
  private readonly chunks: Uint8Array[] = [];
  /** Drops the images of a reply whose client has left. */
  private shortTexts: ShortTexts | undefined = undefined;
  /** Audio passes as it comes. A JSON body of speech is an error. */
  private isAudio = false;
  private hasAudio = false;

  constructor(
    private readonly call: Call,
    private readonly client: Sink,
    private readonly wire: Services["wires"][Protocol],
    private readonly usage: Usage,
    private readonly factors: Factors,
    private readonly check: UsageCheck,
  ) {}

  head(status: number, headers: readonly string[]): void {
    this.isAudio = this.wire.protocol === "speech" && !contentTypeOf(headers).includes("json");
    this.client.head(status, headers);
  }

  event(event: ServerEvent): void {
    // Speech can arrive as events even if `stream` is not set.
    this.isAudio = true;
    this.hasAudio = true;
    this.wire.readEvent(event, this.usage);
    this.client.event(event);
  }

  data(bytes: Uint8Array): void {
    if (this.isAudio) {
      this.hasAudio = true;
      return this.client.data(bytes);
    }
    const isUnread = this.call.gone && this.wire.protocol === "images";
    const kept = isUnread ? this.withoutImages(bytes) : bytes;
    this.chunks.push(kept);
    this.client.data(kept);
  }

  private withoutImages(bytes: Uint8Array): Uint8Array {
    if (!this.shortTexts) {
      const texts = new ShortTexts();
      for (const [at, chunk] of this.chunks.entries()) this.chunks[at] = texts.shorten(chunk);
      this.shortTexts = texts;
    }
    return this.shortTexts.shorten(bytes);
  }

  end(outcome: Outcome): void {
    // The last chunk of audio leaves after the charge.
    if (outcome.kind === "complete" && this.hasAudio) this.call.delivered = true;
    const isWhole = outcome.kind === "complete" && !this.isAudio;
    this.client.end((isWhole && this.read()) || outcome);
  }

  /** Returns how the call ends instead if the body is no reply of its protocol. */
  private read(): Outcome | undefined {
    const { call } = this;
    const reply = call.replyBody ?? objectOf(parseJson(Buffer.concat(this.chunks).toString()));
    call.replyBody = undefined;
    const worth = reply ? this.wire.judge(reply) : "none";
    // The part that a provider makes after its reply is not charged, so such a reply is sold only if it was asked for.
    const isSold = worth === "pending" ? call.body.read("background") === true : worth !== "none";
    if (!reply || !isSold) return INVALID;
    call.replyBody = reply;
    if (worth === "free") return undefined;
    call.delivered = true;
    this.wire.readReply(reply, this.usage);
    this.check(call);
    if (!this.usage.outputReported || this.usage.outputTokens === 0) {
      const delivered = new Delivered();
      this.wire.countReply(reply, delivered);
      this.call.deliveredTokens = outputTokensOf(delivered, this.factors);
    }
    return undefined;
  }
}
