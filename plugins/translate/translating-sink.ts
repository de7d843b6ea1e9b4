import {
  type Call,
  type Outcome,
  RawJson,
  refuse,
  ServerEvent,
  type Sink,
} from "../../core/plugin/index.ts";
import type { Reply } from "./errors.ts";
import type { ClientStream, Mark, StreamTranslator } from "./stream.ts";
import type { Translation } from "./translation.ts";
import type { MessagesUsage } from "./types.ts";
import { estimatedUsage } from "./usage.ts";

const JSON_TYPE = ["content-type", "application/json"];
const EVENT_STREAM_TYPE = ["content-type", "text/event-stream; charset=utf-8"];

/** The path to the arguments of tools in a reply of Messages. */
const ARGUMENTS = ["content", "input"];

/** The kind of server event for each mark of the client's stream. */
const KINDS = {
  event: "data",
  comment: "data",
  usage: "usage",
  terminal: "terminal",
  error: "error",
} as const;

type Replies = Pick<Translation, "reply" | "error" | "stream"> &
  Partial<Pick<Translation, "gather" | "awaitsReport">>;

/** Translates an upstream's reply into the client's protocol: streams, whole replies and errors. */
export class TranslatingSink implements Sink, ClientStream {
  private status = 0;
  private headers: readonly string[] = [];
  private readonly chunks: Uint8Array[] = [];
  private translator: StreamTranslator | undefined = undefined;
  private begun = false;
  /** How the translator ended the client's stream, undefined until it does. */
  private closed: "terminal" | "error" | undefined = undefined;
  private ended = false;
  /** True once the upstream is to be cancelled at the end of the event. */
  private cutsNow = false;
  private timer: NodeJS.Timeout | undefined = undefined;

  /** Calls `onReply` at the reply of an upstream, after which no other route is tried. */
  constructor(
    private readonly call: Call,
    private readonly client: Sink,
    private readonly translation: Replies,
    private readonly onReply: () => void,
  ) {}

  /**
   * Also checks the call, because a plugin that throws ends it without calling `end` on its sinks.
   */
  private get isOver(): boolean {
    return this.ended || this.call.outcome !== undefined;
  }

  head(status: number, headers: readonly string[]): void {
    this.status = status;
    this.headers = headers;
    this.onReply();
  }

  event(event: ServerEvent): void {
    this.translator ??= this.begin();
    this.translator?.event(event);
    if (this.cutsNow && !this.ended) this.call.flow?.cut({ kind: "complete" });
    // Cut the upstream: output that cannot be delivered must not be generated or charged.
    if (this.closed === "error" && !this.ended) this.call.flow?.cut(UNTRANSLATABLE);
  }

  private begin(): StreamTranslator | undefined {
    const { call, translation } = this;
    return (call.stream ? undefined : translation.gather?.(this)) ?? translation.stream(this);
  }

  data(bytes: Uint8Array): void {
    this.chunks.push(bytes);
  }

  end(outcome: Outcome): void {
    this.ended = true;
    clearTimeout(this.timer);
    this.client.end(this.conclude(outcome));
  }

  write(event: string, mark: Mark): void {
    if (!this.begun) {
      this.begun = true;
      this.client.head(200, EVENT_STREAM_TYPE);
    }
    if (mark === "terminal" || mark === "error") this.closed = mark;
    this.client.event(new ServerEvent(Buffer.from(event), KINDS[mark]));
  }

  whole(status: number, body: object): void {
    this.closed = "terminal";
    this.answer({ status, body }, []);
  }

  /**
   * Cancels the upstream, as if the client had left. If the model may think unseen, only the provider can count, so it
   * gets the time to report that it gets from a client that leaves.
   */
  stopped(): void {
    const { flow, lingerMs } = this.call;
    if (!this.translation.awaitsReport) this.cutsNow = true;
    else if (Number.isFinite(lingerMs)) {
      this.timer = setTimeout(() => {
        if (!this.isOver) flow?.cut({ kind: "complete" });
      }, lingerMs).unref();
    }
  }

  /** A property, as translators pass it on. */
  readonly used = (): MessagesUsage => {
    const { inputTokensLikely, deliveredTokens } = this.call;
    return estimatedUsage(inputTokensLikely ?? 0, deliveredTokens);
  };

  refuse(status: number, body: object): void {
    this.closed = "error";
    this.answer({ status, body }, []);
  }

  private conclude(outcome: Outcome): Outcome {
    if (outcome.kind === "complete" && this.chunks.length > 0) {
      const text = Buffer.concat(this.chunks).toString("utf8");
      const reply = this.translation.reply(RawJson.parse(text, ARGUMENTS) ?? this.call.replyBody);
      this.answer(reply, []);
      return { kind: reply.status === 200 ? "complete" : "refused" };
    }
    if (outcome.kind === "refused") {
      const text = Buffer.concat(this.chunks).toString("utf8");
      this.answer(this.translation.error(this.status, text), this.headers);
      return outcome;
    }
    if (outcome.kind !== "complete" && !(outcome.kind === "broken" && outcome.truncated)) {
      // The gateway adds its own error in the client's protocol unless an upstream error was
      // translated.
      return outcome.kind === "broken"
        ? { ...outcome, errorSent: this.closed === "error" }
        : outcome;
    }
    if (outcome.kind === "complete" && !this.translator) return EMPTY;
    // The translator decides whether the reply is complete.
    this.translator?.end("eof");
    if (this.closed === "terminal") return { kind: "complete" };
    if (outcome.kind === "broken") return { ...outcome, errorSent: this.closed === "error" };
    return this.closed === "error" ? UNTRANSLATABLE : outcome;
  }

  private answer(reply: Reply<object>, headers: readonly string[]): void {
    const kept: string[] = [...JSON_TYPE];
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] ?? "";
      if (name !== "content-type") kept.push(name, headers[at + 1] ?? "");
    }
    this.client.head(reply.status, kept);
    const isError = reply.status >= 400 && this.call.endpoint.protocol === "messages";
    // Errors of Messages name their request; SDKs show it to their users.
    const body = isError ? { ...reply.body, request_id: this.call.id } : reply.body;
    this.client.data(Buffer.from(RawJson.write(body)));
  }
}

/** The upstream replied with status 200 and an empty body. */
const EMPTY: Outcome = {
  kind: "broken",
  refusal: refuse.upstreamFailed("The upstream provider sent an empty reply. Nothing was charged."),
  truncated: false,
  errorSent: false,
};

/** The reply could not be translated, and the translator has sent the client an error. */
const UNTRANSLATABLE: Outcome = {
  kind: "broken",
  refusal: { status: 502, type: "api_error", message: "", param: null, code: null, headers: [] },
  truncated: true,
  errorSent: true,
};
