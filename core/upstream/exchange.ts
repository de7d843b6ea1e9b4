import { COMPLETE, type Flow, GONE, type Outcome, REFUSED } from "../plugin/call.ts";
import type { Sink } from "../plugin/plugin.ts";
import type { ReplyDecoder } from "../plugin/upstream-kind.ts";
import type { Clock } from "../process/clock.ts";
import { parseJson } from "../process/json.ts";
import type { Log } from "../process/log.ts";
import { ServerEvent, SseReader } from "../sse/reader.ts";
import { encodeLines } from "../sse/writer.ts";
import { readableError } from "../wire/provider-error.ts";
import { kindOf, type Wire } from "../wire/wire.ts";
import { wires } from "../wire/wires.ts";
import type { Attempt, AttemptListener, Headers } from "./attempt.ts";
import { broken, refusedOutcome, refusedUnreadably, tooSlow } from "./broken.ts";
import { Dispatch, isSilentUntilWhole } from "./dispatch.ts";
import { type FailureCause, failures } from "./failure-cause.ts";
import { isForOperator, messageIn, type Refused, refusedBy } from "./fault.ts";
import { masked, maskedEvent } from "./mask.ts";
import { Preamble } from "./preamble.ts";
import type { ServedCall } from "./served-call.ts";
import { type Unanswered, unansweredBy } from "./unanswered.ts";
import {
  decoderByType,
  EVENT_STREAM_TYPE,
  JSON_TYPE,
  passedHeaders,
  replyForm,
  retryAfterMs,
  retryHeaders,
  single,
  WholeReply,
} from "./upstream-reply.ts";
import type { ConnectedUpstreams } from "./upstreams.ts";

const EVENT_TOO_LARGE = "The upstream sent an event larger than this gateway takes.";
const UNREACHABLE = "The model's upstream provider cannot be reached. Nothing was charged.";
const NO_REPLY = "The upstream provider sent an invalid reply. Nothing was charged; try again.";
const CUT = "Upstream stream ended before completion";
const CONNECTION_BROKE = "The connection to the upstream broke.";
/** After this the upstream has worked on a request whose connection ends. */
const REPEAT_WITHIN_MS = 5_000;
/** The body of a refusal follows its head at once. Without it, the status alone counts. */
const REFUSAL_BODY_MS = 5_000;
/** Errors of providers have a few hundred bytes. */
const REFUSAL_BYTES_MAX = 262_144;
const UNREADABLE = "The upstream sent a stream that this gateway cannot read.";

/** The client's end of a call, beside the sinks. */
export interface ClientEnd {
  /** Sends what the sink has gathered to the client, and closes the call if the sink was ended. */
  flush(): void;
  /** Counts the bytes of a whole reply. Returns the outcome if it is too large to keep, or if there is no room. */
  refusalOfSize(bytes: number): Outcome | undefined;
  /** Counts the bytes of an event that arrives, 0 if none does. Returns the outcome if there is no room. */
  refusalOfRoom(bytes: number): Outcome | undefined;
  /** The bytes of a reply that has not begun are dropped. */
  dropWhole(): void;
  keepAlive(nowMs: number): void;
  /** True once a sign of life has been sent before the reply: only events can follow. */
  readonly isStreamOpen: boolean;
  /** Ends the call in any state of its sinks, and logs the reason. */
  bug(error: unknown): void;
}

/**
 * Passes the reply of an upstream to a sink. Before the first useful byte of a reply, a failed attempt moves on to the
 * next key or route, and nothing of it reaches the sink; after it, the reply ends with an error.
 */
export class Exchange implements AttemptListener, Flow {
  private readonly wire: Wire;
  private readonly onEvent: (event: ServerEvent) => void;

  private readonly dispatch: Dispatch;
  /** The status of the attempt under way; 0 until it has replied. */
  private status = 0;
  /** When the attempt under way began, on the monotonic clock. */
  private sentAtMs = 0;
  /** When the upstream last sent something, or was read again, on the monotonic clock. */
  private heardAtMs = 0;
  /** Headers of the attempt's reply that the client gets, and all of them. */
  private passed: readonly string[] = [];
  private headers: Headers = {};
  private readonly whole = new WholeReply();
  private readonly preamble: Preamble;
  private reader: ReplyDecoder | undefined = undefined;
  /** True for a reply of one JSON body, which is passed on once it is whole. */
  private isWhole = false;
  /** True once the reply is passed on: no other attempt can serve the call. */
  private begun = false;
  /** True once the upstream's own error event was passed on. */
  private errorSent = false;
  /** The error that was sent is the request's own. */
  private isCallersFault = false;
  private over = false;
  private pausedByPlugin = false;
  private pausedForClient = false;
  /** The last two events. If a stream ends without a terminal event, they show if it was complete. */
  private last: ServerEvent | undefined = undefined;
  private beforeLast: ServerEvent | undefined = undefined;

  constructor(
    private readonly call: ServedCall,
    private readonly sink: Sink,
    private readonly client: ClientEnd,
    private readonly upstreams: ConnectedUpstreams,
    private readonly clock: Clock,
    log: Log,
  ) {
    this.wire = wires[call.upstream?.protocol ?? call.endpoint.protocol];
    this.preamble = new Preamble(this.wire);
    this.dispatch = new Dispatch(call, this.wire, upstreams, clock, log, this);
    this.onEvent = (event) => this.gather(event);
  }

  /** Sends the call the best way. Ends it if there is none. */
  start(): void {
    if (!this.startNext()) this.finish(broken(UNREACHABLE));
  }

  private get attempt(): Attempt | undefined {
    return this.dispatch.attempt;
  }

  sent(): void {
    this.call.taken = true;
  }

  replied(stated: number, headers: Headers): void {
    // Any 2xx status counts as success. The body decides what the reply is worth.
    const status = stated >= 200 && stated < 300 ? 200 : stated;
    this.status = status;
    this.headers = headers;
    const { attempt } = this;
    if (!attempt) return;
    const { adapter } = attempt.upstream;
    if (status !== 200) {
      // The body of a refusal has its time from here on.
      this.hear();
      this.call.taken = false;
      adapter.refused?.(status);
    }
    const statedType = single(headers["content-type"]);
    const read =
      adapter.decoder?.(status, statedType) ?? decoderByType(status, statedType, this.call.stream);
    if (status !== 200) {
      // A page of a proxy, or a redirect.
      if (read === "bytes" || status < 400)
        this.refusedBy(undefined, read === "bytes" && single(headers["content-length"]) !== "0");
      return;
    }
    const { decoder, type } = replyForm(read, statedType, this.wire.protocol, this.call.stream);
    // Audio cannot follow a sign of life.
    if (decoder === "bytes" && this.client.isStreamOpen) {
      return this.fail(failures.unreadable("no stream"), broken(NO_REPLY));
    }
    this.passed = passedHeaders(type, headers);
    this.isWhole = decoder === "json";
    if (decoder === "events") this.reader = new SseReader();
    else if (typeof decoder === "object") this.reader = decoder;
  }

  received(chunk: Buffer): void {
    const now = this.hear();
    if (this.call.firstByteAtMs === 0) this.call.firstByteAtMs = now;
    if (this.status !== 200) {
      this.whole.add(chunk);
      if (this.whole.bytes > REFUSAL_BYTES_MAX) this.refusedBy(undefined);
      return;
    }
    if (this.reader) this.read(this.reader, chunk);
    else if (this.isWhole && !this.begun) this.keep(chunk);
    else {
      if (!this.begun) this.begin();
      this.sink.data(chunk);
    }
    if (!this.over && this.begun) this.flush();
  }

  private read(reader: ReplyDecoder, chunk: Buffer): void {
    const isRead = reader.push(chunk, this.onEvent);
    if (this.over || this.reader !== reader) return;
    const isEvents = reader instanceof SseReader;
    if (isRead) {
      const refusal = isEvents && this.client.refusalOfRoom(reader.keptBytes);
      if (refusal) this.cut(refusal);
      return;
    }
    const failure = failures.unreadable(isEvents ? "an event is too large" : "not decoded");
    this.fail(failure, broken(isEvents ? EVENT_TOO_LARGE : UNREADABLE));
  }

  /** Keeps a part of a whole reply. */
  private keep(chunk: Buffer): void {
    this.whole.add(chunk);
    const refusal = this.client.refusalOfSize(this.whole.bytes);
    if (refusal) this.cut(refusal);
  }

  completed(): void {
    if (this.status !== 200) return this.refusedBy(this.whole.readRefusal());
    this.reader?.end((event) => this.gatherLast(event));
    // The last event may have moved the call on to another attempt.
    if (this.over || this.hasMovedOn) return;
    if (this.reader) return this.streamEnded();
    if (this.isWhole && !this.begun) return this.wholeEnded();
    if (!this.begun) return this.fail(failures.empty, broken(NO_REPLY));
    this.finish(COMPLETE);
  }

  /** True if the reply that is being read was dropped, and the next one has not come. */
  private get hasMovedOn(): boolean {
    return this.status === 0;
  }

  private streamEnded(): void {
    const lastTwo = [this.last, this.beforeLast];
    const isWhole = !this.errorSent && lastTwo.some((event) => event && this.wire.mayEndAt(event));
    if (isWhole) {
      if (!this.begun) this.passHeld();
      return this.finish(COMPLETE);
    }
    if (this.refusedAtStart()) return;
    const isEmpty = !this.begun && this.preamble.isEmpty;
    const outcome = { ...broken(CUT), truncated: true, errorSent: this.errorSent };
    // The upstream works, as it does if it refuses a request by its status.
    if (this.isCallersFault) {
      this.dispatch.succeeded();
      return this.cut(outcome);
    }
    this.fail(isEmpty ? failures.empty : failures.cut, outcome);
  }

  private wholeEnded(): void {
    const { reply, text, worth } = this.whole.judge(this.wire);
    const error = worth === "none" || worth === "free" ? this.whole.error() : undefined;
    if (error && this.refusedInReply(error, worth === "free")) return;
    if (worth === "none" && error) return this.passStated(error, text);
    // It was made, and the provider bills it.
    const event = this.call.stream && reply && this.wire.asEvent?.(reply, this.call.endpoint.path);
    if (event) {
      this.passed = passedHeaders(EVENT_STREAM_TYPE, this.headers);
      this.begin();
      this.sink.event(event);
      return this.finish(COMPLETE);
    }
    const isEmpty = text.trim() === "";
    const fault = worth === "none" ? "no reply" : this.client.isStreamOpen && "no stream";
    if (fault)
      return this.fail(isEmpty ? failures.empty : failures.unreadable(fault), broken(NO_REPLY));
    this.begin();
    this.call.replyBody = reply;
    for (const part of this.whole.take()) this.sink.data(part);
    this.finish(COMPLETE);
  }

  /**
   * Handles an error in a reply with status 200. Returns false if the client is to get it as it is: it is the request's
   * fault, or nothing else can serve the call and `mayPass`.
   */
  private refusedInReply(refused: Refused, mayPass: boolean): boolean {
    if (!refused.triesOn && refused.says === undefined) return false;
    this.note(refused);
    if (refused.triesOn && this.tryNext()) return true;
    if (mayPass && !isForOperator(refused)) return false;
    this.cut(this.outcomeOf(refused));
    return true;
  }

  /** Handles an error of no protocol in a stream that has not begun. Returns false if it states none. */
  private refusedAtStart(): boolean {
    const stated = this.preamble.stated();
    if (!stated) return false;
    const { refused, data } = stated;
    if (!this.refusedInReply(refused, false)) this.passStated(refused, data);
    return true;
  }

  /** Passes on an error of the request that came with status 200, in a form of which the client would not understand all. */
  private passStated({ means, code }: Refused, text: string): void {
    this.dispatch.succeeded();
    const message = messageIn(text) || "The model's provider refused the call.";
    this.passRefusal(means, JSON.stringify({ message, code }));
  }

  /** Handles a refusal. `text`: its body, unless it cannot be read. */
  private refusedBy(text: string | undefined, isUnreadPage = false): void {
    const { status, headers } = this;
    const refused = refusedBy(status, text, isUnreadPage);
    const { triesOn, fault, means } = refused;
    // Before all else: a plugin may know a text that the gateway hides, or that has another route tried.
    if (fault === "caller" && text !== undefined && this.isSentAgain(text)) return;
    this.note(refused);
    const isOwn = fault === "caller" && refused.says === undefined;
    // A mistake that may be the caller's own goes on only to a route that works: another's trouble would hide its text.
    if (triesOn && (!isOwn || this.dispatch.prepare(true)) && this.tryNext()) return;
    if (!isOwn) return this.cut(this.outcomeOf(refused));
    // A text that is no JSON object was not read: it may be about the account.
    if (text === undefined || typeof parseJson(text) !== "object")
      return this.cut(refusedUnreadably(status, retryHeaders(headers)));
    this.passRefusal(means, text);
  }

  /** Passes on a refusal of the request in the provider's words. */
  private passRefusal(status: number, text: string): void {
    const own = masked(text, this.hidden);
    // It may stay open; its end would be judged again.
    this.attempt?.abort();
    this.begun = true;
    this.call.step("replying");
    this.sink.head(status, passedHeaders(JSON_TYPE, this.headers));
    this.sink.data(Buffer.from(readableError(this.wire.protocol, status, own)));
    this.finish(REFUSED);
  }

  private outcomeOf(refused: Refused): Outcome {
    return refusedOutcome(refused, this.call, retryHeaders(this.headers, refused.retryAfterMs));
  }

  /** Rests what a refusal concerns, for as long as the provider says; nothing if it is of the request alone. */
  private note(refused: Refused): void {
    if (!refused.triesOn) return this.dispatch.succeeded();
    const statedMs = retryAfterMs(this.headers, this.clock.now()) ?? refused.retryAfterMs;
    this.dispatch.refused({ ...refused, retryAfterMs: statedMs });
  }

  /** Sends a refused call again if a plugin has changed its request for that. */
  private isSentAgain(refusal: string): boolean {
    const { call } = this;
    if (!call.upstream?.sendsAgain?.(this.status, refusal)) return false;
    if (!this.dispatch.prepareAgain()) return false;
    this.dispatch.record({ cause: `http_${this.status}`, reason: `HTTP ${this.status}` });
    return this.tryNext();
  }

  failed(error: Error): void {
    if (this.status !== 0 && this.status !== 200) return this.refusedBy(this.whole.readRefusal());
    const failure = failures.byError(error);
    this.call.taken = false;
    if (this.status === 0) return this.unreached(failure, unansweredBy(error));
    this.fail(failure, { ...broken(CONNECTION_BROKE), errorSent: this.errorSent });
  }

  /**
   * Handles a request that got no reply. If its connection ended early, it is sent once more, on a new one: at once if the
   * connection was a reused one, which the upstream had probably closed before, else if nothing else can serve the call.
   */
  private unreached(failure: FailureCause, left: Unanswered | undefined): void {
    const isEarly = left !== undefined && this.silentMs < REPEAT_WITHIN_MS;
    if (isEarly && left === "reused") {
      this.dispatch.foundStale(failure);
      this.dispatch.prepareRepeat();
    } else this.dispatch.failed(failure, failure.cause === "silent");
    if (this.tryNext()) return;
    const mayRepeat = isEarly && this.dispatch.mayRetry && this.dispatch.prepareRepeat();
    if (!mayRepeat || !this.tryNext()) this.cut(broken(UNREACHABLE));
  }

  /** Counts a failure. Moves on to the next attempt, or ends the call with `outcome`. */
  private fail(failure: FailureCause, outcome: Outcome): void {
    this.dispatch.failed(
      failure,
      !this.begun && (this.status === 200 || failure.cause === "silent"),
    );
    if (this.begun || !this.tryNext()) this.cut(outcome);
  }

  /** Drops the attempt and what came of it, and makes the next one. Returns false if there is none. */
  private tryNext(): boolean {
    if (this.begun || !this.dispatch.prepare()) return false;
    this.attempt?.abort();
    if (this.status === 200) this.client.dropWhole();
    this.status = 0;
    this.isWhole = false;
    this.dropReply();
    this.call.firstByteAtMs = 0;
    this.call.taken = false;
    return this.startNext();
  }

  private dropReply(): void {
    this.whole.clear();
    this.reader = undefined;
    this.last = undefined;
    this.beforeLast = undefined;
    this.preamble.clear();
  }

  private startNext(): boolean {
    if (!this.dispatch.prepare()) return false;
    this.sentAtMs = this.hear();
    this.dispatch.send();
    return true;
  }

  private begin(): void {
    this.begun = true;
    this.dispatch.began();
    this.call.step("replying");
    // A reply may stream for minutes, and nothing else is tried from now on.
    this.call.upstream?.body?.shed();
    this.sink.head(this.status, this.passed);
  }

  /** Stops, and ends the call as a bug: a plugin threw while it handled the reply, so what it passed on cannot be trusted. */
  bug(error: unknown): void {
    this.over = true;
    this.dispatch.end();
    if (!this.begun) this.dispatch.forget();
    this.attempt?.abort();
    this.client.bug(error);
  }

  /** Called after each chunk and after the end of the sink, and by a plugin that writes outside of both. */
  flush(): void {
    try {
      this.client.flush();
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

  /** Pauses the upstream while the client reads too slowly, beside the pauses of plugins. */
  clientWaits(waits: boolean): void {
    this.pausedForClient = waits;
    this.setReading();
  }

  private setReading(): void {
    if (this.over) return;
    if (this.isPaused) return this.attempt?.pause();
    this.hear();
    this.attempt?.resume();
  }

  private get isPaused(): boolean {
    return this.pausedByPlugin || this.pausedForClient;
  }

  private hear(): number {
    this.heardAtMs = this.clock.monotonic();
    return this.heardAtMs;
  }

  private get silentMs(): number {
    return this.clock.monotonic() - this.heardAtMs;
  }

  /**
   * Leaves an upstream that is silent for too long: for another, or with an error if there is none. A reply that is silent
   * until it is whole has no limit but the deadline of the call.
   */
  cutIfSilent(nowMs: number): void {
    if (this.over) return;
    if (this.call.stream) this.client.keepAlive(nowMs);
    if (this.status !== 0 && this.status !== 200) {
      if (this.silentMs < REFUSAL_BODY_MS) return;
      // Events may be whole though their connection stays open. Half a JSON text shows no firewall.
      const text = this.whole.readRefusal();
      return this.refusedBy(parseJson(text) === undefined ? undefined : text);
    }
    if (!this.begun && this.leftIfSlow(nowMs)) return;
    if (this.isPaused) return;
    if (this.errorSent) {
      // Nothing but the end can follow an error.
      if (this.silentMs >= REFUSAL_BODY_MS) this.streamEnded();
      return;
    }
    if (isSilentUntilWhole(this.call)) return;
    const { idleMs, firstByteMs } = this.upstreams.limits;
    const limitMs = this.begun ? idleMs : firstByteMs;
    if (nowMs - this.heardAtMs < limitMs) return;
    this.fail(failures.silent(limitMs), tooSlow(limitMs / 1000, this.begun));
  }

  /** Leaves an upstream that has brought no content in time, if another can serve the call. Else it may go on. */
  private leftIfSlow(nowMs: number): boolean {
    const limitMs = this.dispatch.patienceMs;
    if (nowMs - this.sentAtMs < limitMs || !this.dispatch.prepare(true)) return false;
    this.dispatch.failed(failures.silent(limitMs), true);
    return this.tryNext();
  }

  /** Ends a call that has taken longer than `limitMs`. An upstream that has brought nothing by then was silent. */
  overdue(outcome: Outcome, limitMs: number): void {
    if (!this.over && !this.begun) this.dispatch.failed(failures.silent(limitMs), true);
    this.cut(outcome);
  }

  cut(outcome: Outcome): void {
    if (this.over) return;
    // The beginning of a stream states its input, and nothing else is tried for a client who has left.
    if (this.call.gone && !this.begun && !this.preamble.isEmpty) this.passHeld();
    if (!this.begun) this.dispatch.forget();
    this.attempt?.abort();
    this.finish(outcome);
  }

  private passHeld(): void {
    this.begin();
    for (const held of this.preamble.release()) this.pass(held);
  }

  private gather(event: ServerEvent): void {
    // Events that follow the one which moved the call on belong to the attempt that was dropped.
    if (this.over || this.hasMovedOn) return;
    this.beforeLast = this.last;
    this.last = event;
    if (this.begun) this.pass(event);
    else this.holdBack(event);
  }

  /**
   * Takes a last event whose blank line is missing, and adds that. Drops half an event, of which an error that follows
   * would become a part.
   */
  private gatherLast({ type, data, kind }: ServerEvent): void {
    if (data !== "[DONE]" && parseJson(data) === undefined) return;
    this.gather(new ServerEvent(Buffer.from(encodeLines(type, data)), kind));
  }

  private holdBack(event: ServerEvent): void {
    switch (this.preamble.take(event)) {
      case "more":
        return;
      case "empty":
        if (!this.refusedAtStart()) this.fail(failures.empty, broken(NO_REPLY));
        return;
      case "error":
        if (this.refusedInReply(refusedBy(200, event.data), false)) return;
    }
    this.passHeld();
    this.pass(event);
  }

  private pass(event: ServerEvent): void {
    const kind = kindOf(event, this.wire);
    if (kind === "error") return this.passError(event);
    this.sink.event(event);
    if (kind !== "terminal" || this.over) return;
    // Servers end a stream even after its error: vllm-project/vllm#40986.
    if (this.errorSent) return this.streamEnded();
    this.attempt?.leave();
    this.finish(COMPLETE);
  }

  /** Passes on the error that ends a stream, unless it is the operator's trouble. */
  private passError(event: ServerEvent): void {
    const refused = refusedBy(200, event.data);
    if (isForOperator(refused)) {
      this.note(refused);
      return this.cut(this.outcomeOf(refused));
    }
    this.errorSent = true;
    this.call.taken = false;
    this.isCallersFault = refused.fault === "caller";
    this.sink.event(maskedEvent(event, this.hidden));
  }

  private get hidden(): readonly string[] {
    return this.attempt?.upstream.hidden ?? [];
  }

  private finish(outcome: Outcome): void {
    if (this.over) return;
    this.over = true;
    this.dispatch.end();
    if (outcome.kind === "complete") this.dispatch.succeeded();
    try {
      this.sink.end(this.call.gone && outcome.kind === "exhausted" ? GONE : outcome);
    } catch (error) {
      return this.bug(error);
    }
    // A slow client keeps the exchange until it has read its reply.
    this.dropReply();
    // Called only once every sink has returned: a plugin that fails in its `end` fails before the charge.
    this.flush();
  }
}
