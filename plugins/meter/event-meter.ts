import {
  type Call,
  contentTypeOf,
  Delivered,
  type JsonObject,
  type Outcome,
  type Protocol,
  refuse,
  type ServerEvent,
  type Services,
  type Sink,
  type Usage,
} from "../../core/plugin/index.ts";
import type { Factors } from "./bound.ts";
import { outputTokensOf } from "./estimate.ts";
import type { UsageCheck } from "./implausible.ts";

/** A stream that is no reply of its protocol. Core has handled the errors that it may state. */
const INVALID: Outcome = {
  kind: "broken",
  refusal: refuse.upstreamFailed(
    "The upstream provider sent an invalid reply. Nothing was charged; try again.",
  ),
  truncated: false,
  errorSent: false,
};

/**
 * Reads usage from a reply: from a stream as it passes, from a whole reply when it has ended. Providers may send either
 * form, whichever was asked for. Counts the delivered text of a stream, so that one that breaks off or reports no usage
 * can be charged for it. Passes audio without counting it.
 */
export class EventMeter implements Sink {
  private readonly delivered = new Delivered();
  /** Output that arrived after the client had left. */
  private readonly unread = new Delivered();
  /** True if the reply is not a stream, even if one was asked for. */
  private isWhole = false;
  /** How far the upstream's stream has advanced. */
  private stage: ReturnType<Services["wires"][Protocol]["stage"]> = "none";
  /** The value of `usage.outputReports` that was seen last. */
  private reports = 0;

  constructor(
    private readonly call: Call,
    private readonly client: Sink,
    private readonly wire: Services["wires"][Protocol],
    private readonly usage: Usage,
    private readonly factors: Factors,

    /** True if the event that only reports usage is dropped, because the client did not request it. */
    private readonly hidesUsage: boolean,
    private readonly check: UsageCheck,

    /** Returns true if the route that replies reports cached tokens beside the input. */
    private readonly isCachedBeside: () => boolean,

    /** Called before the head of audio, which leaves before the call is closed. */
    private readonly onAudio?: () => void,
  ) {}

  head(status: number, headers: readonly string[]): void {
    this.usage.cachedBeside = this.isCachedBeside();
    // Events report their tokens at the end, as every stream does.
    const type = contentTypeOf(headers);
    const isAudio = !type.startsWith("text/event-stream") && !type.includes("json");
    if (status === 200 && isAudio) this.onAudio?.();
    this.client.head(status, headers);
  }

  event(event: ServerEvent): void {
    const { call, wire, usage } = this;
    const mayReport = (event.kind ?? wire.classify(event)) !== "data";
    const onlyUsage = mayReport && wire.readEvent(event, usage);
    // Checked before the hold is extended to the reported usage.
    if (mayReport) this.check(call);
    if (this.stage !== "delivered") this.advance(wire.stage(event));
    // Output that arrives after the client has left is only read to learn the usage, unless the call is drained.
    const isUnread = call.gone && Number.isFinite(call.lingerMs);
    const isOverheld = isUnread && this.exceedsHold(event);
    if (!isUnread) {
      wire.countDelta(event, this.delivered);
      call.deliveredTokens = outputTokensOf(this.delivered, this.factors);
    }
    if (usage.outputReports !== this.reports) {
      this.reports = usage.outputReports;
      usage.deliveredAtReport = call.deliveredTokens;
    }
    if (!(onlyUsage && this.hidesUsage)) this.client.event(event);
    if (isOverheld) call.flow?.cut({ kind: "gone" });
  }

  /** Returns true once the upstream has written more than the call has held. */
  private exceedsHold(event: ServerEvent): boolean {
    const { call } = this;
    this.wire.countDelta(event, this.unread);
    const tokens = call.deliveredTokens + outputTokensOf(this.unread, this.factors);
    return call.held?.tariff.unit === "mtok" && tokens > call.held.outputTokens;
  }

  private advance(stage: ReturnType<Services["wires"][Protocol]["stage"]>): void {
    if (stage === "none" || (stage === "begun" && this.stage !== "none")) return;
    this.stage = stage;
  }

  data(bytes: Uint8Array): void {
    this.isWhole = true;
    this.client.data(bytes);
  }

  end(outcome: Outcome): void {
    const { call } = this;
    if (outcome.kind !== "complete") return this.client.end(outcome);
    if (this.isWhole) {
      if (call.replyBody) this.read(call.replyBody);
      // The last chunk of audio leaves after the charge.
      else call.delivered = true;
      return this.client.end(outcome);
    }
    if (this.stage === "none" || this.stage === "failed") return this.client.end(INVALID);
    this.client.end(outcome);
    // A complete stream costs its usage, even without any text, unless it only refuses: also if a translation has written
    // the refusal as text, perhaps just now.
    call.delivered = this.stage !== "refused";
  }

  /** Reads an unstreamed JSON reply, which core has judged. */
  private read(reply: JsonObject): void {
    const { call, wire, usage } = this;
    if (wire.judge(reply) === "free") return;
    call.delivered = true;
    wire.readReply(reply, usage);
    this.check(call);
    if (usage.outputReported && usage.outputTokens > 0) return;
    const delivered = new Delivered();
    wire.countReply(reply, delivered);
    call.deliveredTokens = outputTokensOf(delivered, this.factors);
  }
}
