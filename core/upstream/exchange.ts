import { COMPLETE, type Flow, GONE, type Outcome, REFUSED } from "../plugin/call.ts";
import type { Sink } from "../plugin/plugin.ts";
import type { ReplyDecoder } from "../plugin/upstream-kind.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { type ServerEvent, SseReader } from "../sse/reader.ts";
import { readableError } from "../wire/provider-error.ts";
import { kindOf, type Wire } from "../wire/wire.ts";
import { wires } from "../wire/wires.ts";
import type { Attempt, AttemptListener, Headers } from "./attempt.ts";
import { broken, overloaded, refusedUnreadably, tooSlow } from "./broken.ts";
import { Dispatch } from "./dispatch.ts";
import { EmptyEvents } from "./empty-events.ts";
import { failures } from "./failure-cause.ts";
import { masked, maskedEvent } from "./mask.ts";
import { RefusedReply } from "./refused-reply.ts";
import { decoderByType, refusalByStatus } from "./replies.ts";
import { replyForm } from "./reply-form.ts";
import { passedHeaders, single } from "./reply-headers.ts";
import type { ServedCall } from "./served-call.ts";
import { Silence } from "./silence.ts";
import type { ConnectedUpstreams } from "./upstreams.ts";

const EVENT_TOO_LARGE = "The upstream sent an event larger than this gateway takes.";
const ERROR_TOO_LARGE = "The upstream sent an error larger than this gateway takes.";
/** A later failure is not that of a reused connection: the upstream has worked on the request. */
const RESEND_WITHIN_MS = 5_000;
const ONLY_EMPTY_EVENTS = "The upstream sent nothing but empty events for too long.";
const UNREADABLE = "The upstream sent a stream that this gateway cannot read.";

/**
 * Passes the reply of an upstream to a sink. Before the first byte of a reply, a failed attempt moves on to the next
 * route; after it, the reply ends with an error.
 */
export class Exchange implements AttemptListener, Flow {
  private readonly call: ServedCall;
  private readonly sink: Sink;
  /** Sends what the sink has gathered to the client, and closes the call if the sink was ended. */
  private readonly onFlush: () => void;
  /** Ends the call in any state of its sinks, and logs the reason. */
  private readonly onBug: (error: unknown) => void;
  private readonly silence: Silence;
  private readonly wire: Wire;
  private readonly empty = new EmptyEvents();
  private readonly onEvent: (event: ServerEvent) => void;

  private readonly dispatch: Dispatch;
  private status = 0;
  private readonly refused = new RefusedReply();
  private reader: ReplyDecoder | undefined = undefined;
  /** True once the upstream's own error event was passed on. */
  private errorSent = false;
  private over = false;
  private pausedByPlugin = false;
  private pausedForClient = false;
  /** The last two events. If a stream ends without a terminal event, they show if it was complete. */
  private last: ServerEvent | undefined = undefined;
  private beforeLast: ServerEvent | undefined = undefined;

  constructor(
    call: ServedCall,
    sink: Sink,
    onFlush: () => void,
    onBug: (error: unknown) => void,
    upstreams: ConnectedUpstreams,
    clock: Clock,
    log: Log,
  ) {
    this.call = call;
    this.sink = sink;
    this.onFlush = onFlush;
    this.onBug = onBug;
    this.silence = new Silence(clock, upstreams.limits);
    this.wire = wires[call.upstream?.protocol ?? call.endpoint.protocol];
    this.dispatch = new Dispatch(call, this.wire, upstreams, clock, log, this);
    this.onEvent = (event) => this.gather(event);
  }

  /** Sends the call to the best route that is left. Ends the call if there is none. */
  start(): void {
    if (this.dispatch.prepare()) {
      this.silence.begin();
      return this.dispatch.send();
    }
    this.finish(broken("The model's upstream provider cannot be reached. Nothing was charged."));
  }

  private get attempt(): Attempt | undefined {
    return this.dispatch.attempt;
  }

  sent(): void {
    this.call.taken = true;
  }

  replied(stated: number, headers: Headers): void {
    // Any 2xx status counts as success. The body decides what the reply is worth.
    const status = stated < 300 ? 200 : stated;
    this.status = status;
    if (status !== 200) this.call.taken = false;
    const { attempt } = this;
    if (!attempt) return;
    const { adapter, breaker } = attempt.upstream;
    const refusal =
      status < 300 ? "caller" : (adapter.refusal?.(status) ?? refusalByStatus(status));
    if (refusal === "failed") this.dispatch.failed(failures.byStatus(status));
    else if (refusal !== "caller") this.dispatch.refused(failures.byStatus(status));
    else if (status >= 300) breaker.succeed();
    // A provider may cut every stream, so only a whole reply is a success. Until it ends, other calls may probe.
    else breaker.forget();
    if (refusal !== "caller") {
      if (this.dispatch.prepare()) {
        attempt.abort();
        this.status = 0;
        return this.start();
      }
      const busy = overloaded(status, this.call, single(headers["retry-after"]));
      if (busy) return this.cut(busy);
      if (refusal !== "elsewhere") return this.cut(this.dispatch.providerFailed(status, refusal));
    }
    const statedType = single(headers["content-type"]);
    const read = adapter.decoder?.(status, statedType) ?? decoderByType(status, statedType);
    if (status >= 400 && read === "bytes") {
      return this.cut(refusedUnreadably(status, single(headers["retry-after"])));
    }
    const { decoder, type } =
      status === 200
        ? replyForm(read, statedType, this.wire.protocol, this.call.stream)
        : { decoder: read, type: statedType };
    const passed = passedHeaders(type, headers);
    if (decoder === "events") this.reader = new SseReader();
    else if (typeof decoder === "object") this.reader = decoder;
    if (status >= 400) {
      this.refused.headers = passed;
      return;
    }
    this.call.step("replying");
    // A reply may stream for minutes, and no other route is tried from now on.
    this.call.upstream?.body?.shed();
    this.sink.head(status, passed);
  }

  received(chunk: Buffer): void {
    const now = this.silence.begin();
    if (this.call.firstByteAtMs === 0) this.call.firstByteAtMs = now;
    if (this.status >= 400) {
      if (!this.refused.add(chunk)) this.cut(broken(ERROR_TOO_LARGE));
      return;
    }
    if (!this.reader) this.sink.data(chunk);
    else if (!this.reader.push(chunk, this.onEvent)) {
      const isTooLarge = this.reader instanceof SseReader;
      this.dispatch.record(
        failures.unreadable(isTooLarge ? "an event is too large" : "not decoded"),
      );
      return this.cut(broken(isTooLarge ? EVENT_TOO_LARGE : UNREADABLE));
    }
    if (!this.over) this.flush();
  }

  completed(): void {
    this.reader?.end(this.onEvent);
    if (this.over) return;
    if (this.status >= 400) {
      const given = this.refused.text();
      if (this.isSentAgain(given)) return;
      const text = masked(given, this.hidden);
      this.call.step("replying");
      this.sink.head(this.status, this.refused.headers);
      this.sink.data(Buffer.from(readableError(this.wire.protocol, this.status, text)));
      return this.finish(REFUSED);
    }
    if (!this.reader) return this.finish(COMPLETE);
    const lastTwo = [this.last, this.beforeLast];
    const isWhole = !this.errorSent && lastTwo.some((event) => event && this.wire.mayEndAt(event));
    if (isWhole) return this.finish(COMPLETE);
    this.dispatch.failed(failures.cut);
    const outcome = broken("Upstream stream ended before completion");
    this.finish({ ...outcome, truncated: true, errorSent: this.errorSent });
  }

  /** Sends a refused call again if a plugin has changed its request for that. */
  private isSentAgain(refusal: string): boolean {
    const { call } = this;
    if (!call.upstream?.sendsAgain?.(this.status, refusal)) return false;
    this.dispatch.record(failures.byStatus(this.status));
    if (!this.dispatch.prepareAgain()) return false;
    this.status = 0;
    this.refused.clear();
    call.firstByteAtMs = 0;
    this.start();
    return true;
  }

  failed(error: Error): void {
    this.call.taken = false;
    const failure = failures.byError(error);
    this.dispatch.failed(failure);
    if (this.status !== 0) {
      const outcome = broken("The connection to the upstream broke.");
      return this.finish({ ...outcome, errorSent: this.errorSent });
    }
    const mayResend = failure.reason === "UND_ERR_SOCKET" && this.silence.ms < RESEND_WITHIN_MS;
    if (mayResend) this.dispatch.allowResend();
    this.start();
  }

  /** A plugin threw while it handled the reply, so what it passed on cannot be trusted. */
  bug(error: unknown): void {
    this.over = true;
    if (this.status === 0) this.attempt?.upstream.breaker.forget();
    this.attempt?.abort();
    this.onBug(error);
  }

  /** Called after each chunk and after the end of the sink, and by a plugin that writes outside of both. */
  flush(): void {
    try {
      this.onFlush();
    } catch (error) {
      this.bug(error);
    }
  }

  pause(): void {
    this.pausedByPlugin = true;
    this.setReading();
  }

  resume(): void {
    this.pausedByPlugin = false;
    this.setReading();
  }

  clientWaits(waits: boolean): void {
    this.pausedForClient = waits;
    this.setReading();
  }

  private setReading(): void {
    if (this.over) return;
    if (this.pausedByPlugin || this.pausedForClient) {
      this.silence.pause();
      this.attempt?.pause();
    } else {
      this.silence.resume();
      this.attempt?.resume();
    }
  }

  /** Ends a stream whose upstream is silent for too long. Tries no other route: the upstream works on it and bills it. */
  cutIfSilent(nowMs: number): void {
    if (this.over || !this.call.stream) return;
    const hasBegun = this.call.firstByteAtMs !== 0;
    const limitMs = this.silence.reached(nowMs, hasBegun);
    if (limitMs === undefined) return;
    this.dispatch.failed(failures.silent(limitMs));
    this.cut(tooSlow(limitMs / 1000, hasBegun));
  }

  /** Ends the reply with `outcome` and cancels the upstream. */
  cut(outcome: Outcome): void {
    if (this.over) return;
    if (this.status === 0) this.attempt?.upstream.breaker.forget();
    this.attempt?.abort();
    this.finish(outcome);
  }

  private gather(event: ServerEvent): void {
    if (this.over) return;
    const worth = this.empty.judge(event, this.silence.heardAtMs);
    if (worth === "pass") return this.readEvent(event);
    if (worth === "drop") return;
    this.dispatch.failed(failures.unreadable("only empty events"));
    this.cut(broken(ONLY_EMPTY_EVENTS));
  }

  private readEvent(event: ServerEvent): void {
    this.beforeLast = this.last;
    this.last = event;
    const kind = kindOf(event, this.wire);
    if (kind === "error") this.errorSent = true;
    this.sink.event(kind === "error" ? maskedEvent(event, this.hidden) : event);
    if (kind === "terminal" && !this.over) {
      this.attempt?.leave();
      this.finish(COMPLETE);
    }
  }

  private get hidden(): readonly string[] {
    return this.attempt?.upstream.hidden ?? [];
  }

  private finish(outcome: Outcome): void {
    if (this.over) return;
    this.over = true;
    if (outcome.kind === "complete") this.attempt?.upstream.breaker.succeed();
    try {
      this.sink.end(this.call.gone && outcome.kind === "exhausted" ? GONE : outcome);
    } catch (error) {
      return this.bug(error);
    }
    // Called only once every sink has returned: a plugin that fails in its `end` fails before the charge.
    this.flush();
  }
}
