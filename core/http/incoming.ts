import { readCallBody } from "../body/read-body.ts";
import {
  bodyTooLarge,
  compression,
  declaredLength,
  isChunked,
  type Reading,
  receiveBody,
  type Share,
} from "../body/receive.ts";
import type { Endpoint } from "../catalogue/endpoint.ts";
import type { HttpResponse } from "../listener/index.ts";
import { type Flow, GONE } from "../plugin/call.ts";
import type { Field } from "../plugin/plugin.ts";
import type { PlainHandler, PlainRequest } from "../plugin/router.ts";
import { atEndOfTurn } from "../process/turn.ts";
import { sessionOf } from "../upstream/conversation.ts";
import { Exchange } from "../upstream/exchange.ts";
import { completeRefusal, isRefusal, type Refusal, refuse } from "../wire/refusal.ts";
import type { ClientWire } from "../wire/wire.ts";
import { missingFor } from "./default-steps.ts";
import { HttpCall, isOver } from "./http-call.ts";
import type { HttpCallsInFlight } from "./in-flight.ts";
import { type OnOver, SinkMisuse } from "./pipeline.ts";
import { Reply } from "./reply.ts";
import type { Runtime } from "./runtime.ts";

/** How long a refused call waits for the end of its chunked body, or for more of one whose length it declared. */
const LINGER_MS = 1_000;
/** How long a refused call waits for the end of a body that arrives. */
const LINGER_MS_MAX = 60_000;

/** The head of a request, copied: uWebSockets.js lends it only for a moment. */
export type RequestHead = Omit<PlainRequest, "body" | "keyId">;

/** A request whose headers have arrived. */
export interface Arrived extends Pick<PlainRequest, "headers" | "requestId"> {
  readonly res: HttpResponse;
}

/**
 * Takes one call from its headers to its upstream: admission while the body still arrives, then the
 * body, then the request plugins, then the exchange. Registers `onAborted` before anything else.
 */
export class Incoming {
  readonly call: HttpCall;
  private readonly reply: Reply;
  private reading: Reading | undefined = undefined;
  /** The whole body, if it arrived before admission ended. */
  private early: Buffer | undefined = undefined;
  /** The refusal of this call. Sent once no verdict is pending, and its body has ended or takes too long. */
  private refusal: Refusal | undefined = undefined;
  private readonly share: Share;
  /** Aborted if the client leaves while the call is prepared. */
  private preparing: AbortController | undefined = undefined;
  private linger: NodeJS.Timeout | undefined = undefined;
  /** Cancels the upstream of a client that has left if the report of usage does not come in time. */
  private readingOn: NodeJS.Timeout | undefined = undefined;

  private readonly res: HttpResponse;

  constructor(
    { res, headers, requestId: id }: Arrived,
    private readonly runtime: Runtime,
    endpoint: Endpoint,
    onOver: OnOver,
    private readonly inFlight: HttpCallsInFlight,
    headOnly = false,
    wire?: ClientWire,
  ) {
    this.res = res;
    const { clock } = runtime;
    this.call = new HttpCall(id, clock.now(), clock.monotonic(), endpoint, headers, wire, this);
    this.share = runtime.bodies.open(this.call);
    const over: OnOver = (call, pipeline) => {
      clearTimeout(this.readingOn);
      this.reading?.stop();
      this.share.letGo();
      onOver(call, pipeline);
    };
    const onBug = (error: unknown) => this.bug(error);
    this.reply = new Reply(res, this.call, runtime, over, onBug, headOnly);
    res.onAborted(() => this.clientLeft());
  }

  /** Returns the address of the client, which must be there. Read if needed: most calls need none. */
  address(): string {
    const connection = Buffer.from(this.res.getRemoteAddressAsText()).toString();
    return this.runtime.proxies.clientOf(connection, this.call.headers["x-forwarded-for"]);
  }

  cutBody(refusal: Refusal): void {
    clearTimeout(this.linger);
    this.reply.refuseAndCut(this.refusal ?? refusal);
  }

  start(): void {
    this.receive(this.runtime.limits.bodyBytesMax, (body) => this.request(body));
  }

  /** Serves a route that needs no upstream: admission, then the route's own handler. */
  answer(head: RequestHead, bodyBytesMax: number, handler: PlainHandler): void {
    this.receive(bodyBytesMax, (body) => {
      const { key } = this.call;
      if (!key && this.runtime.required.includes("key")) return this.notPossibleWithout("key");
      this.call.step("dispatched");
      const ids = key && { keyId: key.id, accountId: key.accountId, memberId: key.memberId };
      const request = { ...head, body, ...ids };
      this.handle(handler, request).catch((error: unknown) => this.bug(error));
    });
  }

  private async handle(handler: PlainHandler, request: PlainRequest): Promise<void> {
    const response = await handler(request);
    // If the client has left, the call is closed already.
    if (this.call.gone) return;
    if (isRefusal(response)) this.refuse(completeRefusal(response));
    else await this.reply.answer(response);
  }

  /** Refuses the request before any of it is read. */
  reject(refusal: Refusal): void {
    const { share, call, runtime } = this;
    const refuse = () => {
      if (!isOver(call.state)) this.refuse(refusal);
    };
    const onWhole = () => this.refusal && refuse();
    const length = declaredLength(call.headers);
    const { bodyBytesMax: bytesMax } = runtime.limits;
    this.reading = receiveBody(this.res, { bytesMax, length, share, onWhole, onRefused: refuse });
    inItsTurn(refuse);
  }

  /** Reads the body while admission runs, then calls `next` with it. */
  private receive(bytesMax: number, next: (body: Buffer) => void): void {
    const { share, inFlight } = this;
    const length = declaredLength(this.call.headers);
    const onWhole = (whole: Buffer) => this.received(whole, next);
    const onRefused = (refusal: Refusal) => this.stopReading(refusal);
    this.reading = receiveBody(this.res, { bytesMax, length, share, onWhole, onRefused });
    if (length !== undefined && length > bytesMax) return this.refuse(bodyTooLarge(bytesMax));
    const admitted = () => {
      this.call.step("reading");
      const full = inFlight.takePlace(this.call, this.runtime.limits);
      const { early } = this;
      if (!full && early && !share.isCounted) return this.hand(early, next);
      const { key } = this.call;
      const refusal = full ?? (key && share.ofAccount(key.accountId, length, this.isFree));
      if (refusal) this.refuse(refusal);
      else if (early) this.hand(early, next);
      else this.reading?.admit();
    };
    inItsTurn(() => this.run("admit", admitted));
  }

  /** True for a request that holds no money. Its handler bounds the memory of the bodies that it keeps. */
  private get isFree(): boolean {
    return this.call.endpoint.serves.length === 0;
  }

  /** Hands the body on. It takes its part of the budget until the call drops it. */
  private hand(body: Buffer, next: (body: Buffer) => void): void {
    this.early = undefined;
    const refusal = compression(this.call.headers);
    if (refusal && body.length > 0) return this.refuse(refusal);
    if (!this.isFree) this.share.hand();
    try {
      next(body);
    } finally {
      this.share.release();
    }
  }

  private received(whole: Buffer, next: (body: Buffer) => void): void {
    const { call } = this;
    // A closing call was refused, or its client left, before its body arrived.
    if (isOver(call.state)) return;
    call.bodyBytes = whole.length;
    try {
      if (call.state === "admitting") this.early = whole;
      else if (this.refusal) this.refuse(this.refusal);
      else this.hand(whole, next);
    } catch (error) {
      this.bug(error);
    }
  }

  private stopReading(refusal: Refusal): void {
    const { state } = this.call;
    if (isOver(state)) return;
    this.refusal ??= refusal;
    // While a verdict is pending, `decide` sends the refusal.
    if (state !== "admitting") this.refuse(this.refusal);
  }

  /** Runs one stage of the pipeline, then `next` unless the call was refused or its client left. */
  private run(stage: "admit" | "request", next: () => void): void {
    try {
      const verdict = this.runtime.pipeline.run(stage, this.call);
      if (!(verdict instanceof Promise)) return this.decide(verdict, next);
      verdict
        .then((late) => this.decide(late, next))
        // `decide` may throw too, and nothing else would end the call then.
        .catch((error: unknown) => this.bug(error));
    } catch (error) {
      this.bug(error);
    }
  }

  private decide(verdict: Refusal | undefined, next: () => void): void {
    this.refusal ??= verdict && completeRefusal(verdict);
    if (this.call.gone) this.reply.leave();
    else if (this.refusal) this.refuse(this.refusal);
    else next();
  }

  private request(bytes: Buffer): void {
    const { call } = this;
    const read = readCallBody(call, bytes, this.runtime.longBodies);
    if (!(read instanceof Promise)) return this.use(read);
    read
      .then((late) => {
        // The client may have left since.
        if (call.state === "reading") this.use(late);
      })
      .catch((error: unknown) => this.bug(error));
  }

  /** Takes the body into the fields of the call, and checks those that core needs. */
  private use(read: Exclude<ReturnType<typeof readCallBody>, Promise<unknown>>): void {
    const { call } = this;
    if (isRefusal(read)) return this.refuse(read);
    const { body, form } = read;
    call.body = body;
    call.form = form;
    const [field, value] = call.endpoint.streamedBy;
    call.stream = body.read(field) === value;
    call.session = sessionOf(call.headers, body);
    const problem = call.wire.check(body.outline);
    if (problem) return this.refuse(problem);
    atEndOfTurn("request", () => {
      // The client may have left since.
      if (call.state !== "reading") return;
      call.step("requesting");
      this.run("request", () => this.forward());
    });
  }

  private forward(): void {
    const { call, runtime } = this;
    const missing = missingFor(call, runtime.required);
    if (missing !== undefined) return this.notPossibleWithout(missing);
    if (!call.upstream?.prepare) return this.exchange();
    this.preparing = new AbortController();
    const prepared = call.upstream.prepare(this.preparing.signal);
    prepared
      .then((verdict) => this.decide(verdict, () => this.exchange()))
      .catch((error: unknown) => this.bug(error));
  }

  private exchange(): void {
    const { call, reply, runtime } = this;
    const { upstreams, clock, log, pipeline } = runtime;
    const sink = pipeline.wrap(call, reply);
    const exchange = new Exchange(call, sink, reply, upstreams, clock, log);
    call.flow = exchange;
    try {
      exchange.start();
    } catch (error) {
      exchange.bug(error);
    }
  }

  private notPossibleWithout(field: Field): void {
    this.bug(
      new Error(`all plugins ran, but the one that states \`sets: ${field}\` did not set it`),
    );
  }

  private clientLeft(): void {
    const { call } = this;
    call.gone = true;
    this.reply.drop();
    this.reading?.stop();
    clearTimeout(this.linger);
    switch (call.state) {
      // A verdict is pending; the call closes once it is known.
      case "admitting":
      case "requesting":
        this.preparing?.abort();
        return;
      case "reading":
        return this.reply.leave();
      case "dispatched":
      case "replying":
        if (!call.flow) this.reply.leave();
        else if (call.taken && call.lingerMs > 0) this.readOn(call.flow, call.lingerMs);
        else call.flow.cut(GONE);
    }
  }

  /** Reads the upstream on, for its report of usage: to the end of the reply, or for a while. Drops the reply. */
  private readOn(flow: Flow, ms: number): void {
    this.inFlight.leave(this.call);
    if (Number.isFinite(ms)) this.readingOn = setTimeout(() => flow.cut(GONE), ms);
  }

  /** Ends the call with 500, or its stream with an error: a plugin or core has a bug. */
  private bug(error: unknown): void {
    const { call } = this;
    const plugin = error instanceof SinkMisuse ? error.plugin : undefined;
    const { path } = call.endpoint;
    const fields = { err: error, call_id: call.id, path, state: call.state, plugin };
    this.runtime.log.error(fields, "a plugin failed; its call ends with an error");
    // The call is closing already, with its charge.
    if (isOver(call.state)) return;
    if (!this.reply.hasBegun) {
      return this.refuse(
        refuse.failed("The gateway failed to handle this call. Nothing was charged."),
      );
    }
    if (call.gone) return this.reply.leave();
    this.reply.breakOff(
      refuse.failed("The gateway failed during this reply. You pay for the part that you got."),
    );
  }

  /**
   * Ends the call with a refusal: now, or when its body has ended, so that the connection can be used again. A body that
   * does not end soon is cut off. No verdict may be pending.
   *
   * No reply leaves before the end of a body that is read: uWebSockets.js never cuts an idle connection whose last reply
   * left before the end of its request.
   */
  private refuse(refusal: Refusal): void {
    const { call, reading } = this;
    this.refusal = refusal;
    this.share.release();
    reading?.discard();
    clearTimeout(this.linger);
    if (reading?.mustCut) return this.reply.refuseAndCut(refusal);
    if (!reading || reading.isOver) return this.reply.refuse(refusal);
    if (call.state === "admitting") call.step("reading");
    // Once this turn has read what came with the head: mostly all of the request.
    atEndOfTurn("request", () => {
      if (isOver(call.state)) return;
      if (reading.staysPaused) this.reply.refuse(refusal);
      else this.waitForEnd(reading, refusal);
    });
  }

  private waitForEnd(reading: Reading, refusal: Refusal): void {
    const { call, inFlight } = this;
    clearTimeout(this.linger);
    if (inFlight.isLingeringFull) return this.reply.refuseAndCut(refusal);
    inFlight.linger(call);
    const linger = (msMax: number) => {
      const { bytes } = reading;
      const look = () => {
        if (isOver(call.state)) return;
        // A chunked body says nothing of its length, so it gets no more time.
        const arrives = reading.bytes > bytes && !isChunked(call.headers);
        if (arrives && msMax > LINGER_MS) linger(msMax - LINGER_MS);
        else this.reply.refuseAndCut(refusal);
      };
      // Once this turn has read: after a long turn, the body may lie in the socket, and to cut it there loses the reply.
      this.linger = setTimeout(() => atEndOfTurn("request", look), LINGER_MS);
    };
    linger(LINGER_MS_MAX);
  }
}

/** Requests that a turn of the event loop begins to serve at once. */
const AT_ONCE_MAX = 64;

let begun = 0;

/**
 * Begins to serve a request: at once, or at the end of this turn if many have begun in it.
 *
 * A packet may have hundreds of requests, and uWebSockets.js hands all of them over in one turn, which others wait for. It
 * cuts a connection that sends a request before the reply to its last one. So a connection gets this share of a turn, and
 * the rest of such a packet is dropped.
 */
function inItsTurn(work: () => void): void {
  if (begun === 0) atEndOfTurn("request", endTurn);
  begun++;
  if (begun <= AT_ONCE_MAX) work();
  else atEndOfTurn("request", work);
}

function endTurn(): void {
  begun = 0;
}
