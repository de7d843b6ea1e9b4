import {
  type Call,
  contentTypeOf,
  Delivered,
  type JsonObject,
  type Outcome,
  type Protocol,
  type ServerEvent,
  type Services,
  type Sink,
  type Usage,
} from "../../core/plugin/index.ts";
import type { Factors } from "./bound.ts";
import { outputTokensOf } from "./estimate.ts";
import type { UsageCheck } from "./implausible.ts";

/** Reads usage from an unstreamed JSON reply, which core has judged. Passes audio without counting it. */
export class ReplyMeter implements Sink {
  private hasBytes = false;

  constructor(
    private readonly call: Call,
    private readonly client: Sink,
    private readonly wire: Services["wires"][Protocol],
    private readonly usage: Usage,
    private readonly factors: Factors,
    private readonly check: UsageCheck,

    /** Called before the head of audio, which leaves before the call is closed. */
    private readonly onAudio?: () => void,
  ) {}

  head(status: number, headers: readonly string[]): void {
    // Events report their tokens at the end, as every stream does.
    const isStream = contentTypeOf(headers).startsWith("text/event-stream");
    if (status === 200 && !isStream && !contentTypeOf(headers).includes("json")) this.onAudio?.();
    this.client.head(status, headers);
  }

  /** Speech can arrive as events even if `stream` is not set. */
  event(event: ServerEvent): void {
    this.hasBytes = true;
    this.wire.readEvent(event, this.usage);
    this.client.event(event);
  }

  data(bytes: Uint8Array): void {
    this.hasBytes = true;
    this.client.data(bytes);
  }

  end(outcome: Outcome): void {
    const { call } = this;
    if (outcome.kind === "complete") {
      if (call.replyBody) this.read(call.replyBody);
      // The last chunk of audio leaves after the charge.
      else if (this.hasBytes) call.delivered = true;
    }
    this.client.end(outcome);
  }

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
