import type { HttpResponse } from "../listener/index.ts";
import type { CallOutcome } from "../money/usage-fields.ts";
import { brokenBy, COMPLETE, GONE, type Outcome } from "../plugin/call.ts";
import { contentTypeOf, type Sink } from "../plugin/plugin.ts";
import type { PlainResponse } from "../plugin/router.ts";
import { objectOf, parseJson } from "../process/json.ts";
import { asBuffer } from "../sse/bytes.ts";
import type { ServerEvent } from "../sse/reader.ts";
import { broken } from "../upstream/broken.ts";
import type { ClientEnd } from "../upstream/exchange.ts";
import { type Refusal, type RefusalType, refuse } from "../wire/refusal.ts";
import { type ClientWire, kindOf } from "../wire/wire.ts";
import { ClientWriter } from "./client-writer.ts";
import { type HttpCall, isOver } from "./http-call.ts";
import type { OnOver } from "./pipeline.ts";
import type { Runtime } from "./runtime.ts";
import { eventsWithCost, LatestUsage, withCost } from "./shown-cost.ts";
import { signOfLife } from "./sign-of-life.ts";

const EVENT_STREAM = ["content-type", "text/event-stream; charset=utf-8"];

/**
 * A stream that has begun, or has got a sign of life, gets the next after this part of the wait for the first: agents
 * warn of a silence of 20 s (BerriAI/litellm#36024), and no status depends on it any more.
 */
const PARTS = 4;

/** The client left before a status was sent: nginx's number for it, seen only in logs. */
const STATUS_CLIENT_GONE = 499;

/**
 * The client's end of a call.
 *
 * A whole reply (JSON) is withheld until the call is charged, so that its headers can carry the cost. Of a stream, the
 * terminal event is withheld; of audio, the last chunk. Withheld bytes leave when every `close` has run: no client gets
 * a complete reply that is not charged.
 */
export class Reply implements Sink, ClientEnd {
  private readonly wire: ClientWire;
  private readonly client: ClientWriter;
  /** Ends the call in any state of its sinks, and logs the reason. */
  readonly bug: (error: unknown) => void;

  /** The shape of the reply; `none` until its head is written. */
  private shape: "none" | "whole" | "events" | "bytes" = "none";
  /** The outcome that the sink was ended with. The call closes at the next `flush`. */
  private outcome: Outcome | undefined = undefined;
  /** Bytes withheld until every `close` has run. */
  private readonly withheld: Uint8Array[] = [];
  private wholeBytes = 0;
  /** Number of events that have been written: an error event of the gateway continues the numbering of Responses. */
  private eventsWritten = 0;
  /** Keeps the latest report of usage in a stream back; undefined unless it states the cost. */
  private latestUsage: LatestUsage | undefined = undefined;
  /** When a silent stream needs its next sign of life, on the monotonic clock; infinite if it gets none. */
  private signDueMs: number;
  /** True if something that the client counts was written since the last look for silence. */
  private hasWritten = false;
  /** The status of a reply that is no stream, after a sign of life was sent; 0 without one. */
  private lateStatus = 0;

  constructor(
    res: HttpResponse,
    private readonly call: HttpCall,
    private readonly runtime: Runtime,
    private readonly onOver: OnOver,
    onBug: (error: unknown) => void,
    private readonly headOnly: boolean,
  ) {
    this.client = new ClientWriter(res, call, runtime.unread, headOnly);
    this.wire = call.wire;
    this.signDueMs = call.startedMs + runtime.limits.heartbeatMs;
    this.bug = onBug;
  }

  /**
   * Writes a sign of life into a stream that has been silent for too long: proxies cut it else. Before the reply has
   * begun this sends a 200, so that an error is then an event of the stream. Called about once a second.
   */
  keepAlive(nowMs: number): void {
    const { call, client } = this;
    const nextMs = nowMs + this.runtime.limits.heartbeatMs / PARTS;
    if (this.hasWritten) {
      this.hasWritten = false;
      this.signDueMs = nextMs;
      return;
    }
    const isOpen = this.shape === "none" || this.shape === "events";
    if (!isOpen || this.outcome !== undefined || isOver(call.state) || call.gone) return;
    if (client.isBlocked || nowMs < this.signDueMs) return;
    this.signDueMs = nextMs;
    if (this.shape === "none" && !client.headSent) {
      call.status = 200;
      client.head(EVENT_STREAM, true);
    }
    client.add(Buffer.from(signOfLife(call, this.eventsWritten)));
    client.write();
  }

  /** True once a sign of life has been sent before the reply: only events can follow. */
  get isStreamOpen(): boolean {
    return this.shape === "none" && this.client.headSent;
  }

  head(status: number, headers: readonly string[]): void {
    if (isOver(this.call.state)) return;
    if (this.shape !== "none") throw new Error("a reply got a second head");
    const isOpen = this.isStreamOpen;
    if (!isOpen) this.call.status = status;
    const type = contentTypeOf(headers);
    if (status !== 200 || type.startsWith("application/json") || type === "") this.shape = "whole";
    else this.shape = type.startsWith("text/event-stream") ? "events" : "bytes";
    if (this.call.showsCost && this.shape === "events")
      this.latestUsage = new LatestUsage(this.wire);
    if (!isOpen) this.client.head(headers, this.shape === "events");
    else if (this.shape !== "events") this.lateStatus = status;
  }

  event(event: ServerEvent): void {
    if (!this.takes("an event")) return;
    if (this.withheld.length > 0 || kindOf(event, this.wire) === "terminal") {
      this.withholdUsage();
      this.withheld.push(event.raw);
    } else if (this.latestUsage) {
      for (const one of this.latestUsage.next(event)) this.deliver(one.raw, one);
    } else this.deliver(event.raw, event);
  }

  private withholdUsage(): void {
    for (const { raw } of this.latestUsage?.rest() ?? []) this.withheld.push(raw);
  }

  data(bytes: Uint8Array): void {
    if (!this.takes("data")) return;
    if (this.shape === "whole") {
      this.wholeBytes += bytes.length;
      const refusal = this.refusalOfSize(this.wholeBytes);
      if (refusal) this.call.flow?.cut(refusal);
      else if (!this.call.gone) this.withheld.push(bytes);
    } else {
      const last = this.withheld.pop();
      if (last) this.deliver(last);
      this.withheld.push(bytes);
    }
  }

  refusalOfSize(bytes: number): Outcome | undefined {
    const { replyBytesMax } = this.runtime.limits;
    return bytes > replyBytesMax ? tooLarge(replyBytesMax) : this.refusalOfRoom(bytes);
  }

  refusalOfRoom(bytes: number): Outcome | undefined {
    if (this.client.gather(bytes)) return undefined;
    return this.call.gone ? GONE : NO_ROOM;
  }

  dropWhole(): void {
    this.client.gather(0);
  }

  /** Writes a part of a stream, or of audio. The one place that decides what counts as delivered. */
  private deliver(bytes: Uint8Array, event?: ServerEvent): void {
    const { call } = this;
    this.client.add(bytes);
    // Clients of Chat know no other sign of life than comments.
    if (event === undefined || call.endpoint.protocol === "chat") this.hasWritten = true;
    else if (event.hasData) {
      this.hasWritten = true;
      this.eventsWritten++;
    }
    if (call.delivered || call.gone) return;
    call.delivered = event === undefined || this.wire.stage(event) === "delivered";
  }

  end(outcome: Outcome): void {
    if (isOver(this.call.state)) return;
    if (this.outcome !== undefined) throw new Error("a reply was ended twice");
    this.outcome = outcome;
    // An error follows what waits, which states no cost then.
    if (!failureOf(outcome)) this.withholdUsage();
    else for (const one of this.latestUsage?.rest() ?? []) this.deliver(one.raw, one);
  }

  /**
   * Closes the call if the sink was ended. Else writes what has come, at the end of this turn. Called once per chunk
   * from the upstream.
   */
  flush(): void {
    if (this.outcome !== undefined) {
      if (!isOver(this.call.state)) this.close(this.outcome.kind, this.outcome);
      return;
    }
    this.client.flush();
  }

  /** Sends the response of a route that needs no upstream: whole, or part by part as its client reads. */
  async answer({ status, headers = [], body = "" }: PlainResponse): Promise<void> {
    const { call, client } = this;
    call.step("replying");
    call.status = status;
    client.head(headers, false);
    if (typeof body === "string" || body instanceof Uint8Array) {
      this.shape = "whole";
      this.withheld.push(bytesOf(body));
    } else {
      this.shape = "bytes";
      // A file costs as much to make as to send.
      if (this.headOnly) return this.close("complete", COMPLETE);
      for await (const part of body) {
        client.add(bytesOf(part));
        client.write();
        await client.caughtUp();
        if (isOver(call.state)) return;
      }
    }
    this.close("complete", COMPLETE);
  }

  refuse(refusal: Refusal): void {
    this.close("refused", brokenBy(refusal));
  }

  /** Like `refuse`, and closes the connection: the rest of the request is not read. */
  refuseAndCut(refusal: Refusal): void {
    this.client.closesConnection = true;
    this.refuse(refusal);
  }

  /** True once part of a stream or of audio has left. It can be broken off, but not refused. */
  get hasBegun(): boolean {
    return this.client.headSent;
  }

  /** Ends a reply of which part has left, because of a bug. What was delivered is charged. */
  breakOff(refusal: Refusal): void {
    this.close("broken", brokenBy(refusal));
  }

  drop(): void {
    this.withheld.length = 0;
    this.client.drop();
  }

  leave(): void {
    this.close("gone", GONE);
  }

  /** Runs `close` for the plugins that the call reached, once, then sends the withheld bytes. */
  private close(kind: CallOutcome, outcome: Outcome): void {
    const { call } = this;
    call.step("closing");
    call.outcome = kind === "complete" && call.gone ? "left" : kind;
    // The status is part of the usage record, so it must be right before `close` runs.
    const failure = failureOf(outcome);
    call.refusal = failure;
    if (kind !== "refused") this.client.write();
    if (call.gone && call.status === 0) call.status = STATUS_CLIENT_GONE;
    if (failure && (kind === "refused" || !this.client.headSent)) call.status = failure.status;
    let pending: void | Promise<void>;
    try {
      pending = this.runtime.pipeline.close(call);
    } catch (error) {
      return this.notCharged(error);
    }
    if (!pending) return this.finish(outcome);
    pending.then(
      () => this.finish(outcome),
      (error: unknown) => this.notCharged(error),
    );
  }

  /** The charge is not durable: do not send the withheld bytes. */
  private notCharged(error: unknown): void {
    this.runtime.log.error(
      { err: error, call_id: this.call.id },
      "cannot charge a call; its reply is withheld and the client gets 503",
    );
    const refusal = refuse.unavailable("The call could not be charged, so its reply was withheld.");
    if (!this.client.headSent) this.call.status = refusal.status;
    this.finish(brokenBy(refusal));
  }

  private finish(outcome: Outcome): void {
    const failure = failureOf(outcome);
    if (this.call.gone) this.client.drop();
    else if (failure) this.client.fail(failure, this.wire, this.eventsWritten);
    else if (this.lateStatus > 0) this.failLate(this.lateStatus);
    else this.writeWithheld();
    // The reply may wait for its client for a while. Nothing else of the call should.
    this.withheld.length = 0;
    this.call.letGo();
    this.call.step("ended");
    this.onOver(this.call, this.runtime.pipeline);
  }

  /** Turns a refusal that comes after a sign of life into the event that ends the stream. */
  private failLate(status: number): void {
    const body = objectOf(parseJson(Buffer.concat(this.withheld).toString()));
    const error = objectOf(body?.["error"]) ?? {};
    const textOf = (name: string) => (typeof error[name] === "string" ? error[name] : null);
    const type = (textOf("type") ?? "invalid_request_error") as RefusalType;
    const said = textOf("message") ?? "The model's provider refused the call.";
    const detail = { param: textOf("param"), code: textOf("code") };
    const refusal = refuse.as(status, type, said, detail);
    this.client.fail(refusal, this.wire, this.eventsWritten);
  }

  private writeWithheld(): void {
    const { call, withheld, client } = this;
    const cost = call.showsCost && call.held && call.status === 200 ? call.costMicroVnd : undefined;
    if (this.shape === "whole") {
      const whole = joined(withheld);
      const priced = cost === undefined ? undefined : withCost(asBuffer(whole), cost);
      return client.endWhole(priced ?? whole);
    }
    const events = cost === undefined ? withheld : eventsWithCost(withheld, cost);
    for (const bytes of events) client.add(bytes);
    client.endStream();
  }

  /** Returns false once the call is over: a bug may end it while a plugin still writes. Throws if used out of order. */
  private takes(what: string): boolean {
    if (isOver(this.call.state)) return false;
    if (this.shape !== "none" && this.outcome === undefined) return true;
    throw new Error(`a reply got ${what} ${this.outcome ? "after its end" : "before its head"}`);
  }
}

const NOTHING = new Uint8Array(0);

const bytesOf = (part: string | Uint8Array): Uint8Array =>
  typeof part === "string" ? Buffer.from(part) : part;

const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length === 1 ? (pieces[0] ?? NOTHING) : Buffer.concat(pieces);

/** Returns the error that the client must get; undefined if the reply needs none. */
function failureOf(outcome: Outcome): Refusal | undefined {
  if (outcome.kind === "exhausted") return outcome.refusal;
  return outcome.kind === "broken" && !outcome.errorSent ? outcome.refusal : undefined;
}

const NO_ROOM = brokenBy(
  refuse.unavailable(
    "The gateway keeps as many replies as it can until their clients have read them; try again shortly.",
  ),
);

function tooLarge(bytesMax: number): Outcome {
  const megabytes = Math.floor(bytesMax / 1_048_576);
  const message = `The upstream's reply is larger than the ${megabytes} MB that this gateway keeps.`;
  return broken(message);
}
