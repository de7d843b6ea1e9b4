import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { Dispatcher } from "undici";
import type { OutgoingRequest } from "../plugin/upstream-kind.ts";
import { errorOf } from "../process/thrown.ts";
import { atEndOfTurn } from "../process/turn.ts";
import { freeOnceSent } from "./freed-bodies.ts";
import type { HttpUpstream } from "./http-upstream.ts";
import { countRead, isTurnFull, REPLY_BYTES_A_TURN, rest } from "./resting-replies.ts";

/** Receives the events of the attempt under way. */
export interface AttemptListener {
  /** The request is on its way, on a connection that is open. */
  sent(): void;
  replied(status: number, headers: Headers): void;
  received(chunk: Buffer): void;
  completed(): void;
  failed(error: Error): void;
  /** Called if one of the methods above throws. undici would treat that as an error of the connection. */
  bug(error: unknown): void;
}

export type Headers = Record<string, string | string[] | undefined>;

/** Asks for uncompressed replies: they are read at once, so compressing them would only take time. */
const PLAIN = ["accept-encoding", "identity"];

/** How long the rest of a reply may take after its last event. Some servers hold a stream open then, and send comments. */
const REST_MS = 2_000;

/**
 * One request to one upstream: undici's five callbacks. After `leave` or `abort`, later callbacks are ignored, so that
 * the next route can be tried.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined = undefined;
  /** True after `leave` or `abort`: later events of the attempt are dropped. Set here alone. */
  isLeft = false;
  private paused = false;
  /** Set if the upstream sent a compressed body although it was not asked to. */
  private decompressor: Decompressor | undefined = undefined;
  /** True while the decompressor has enough to do. */
  private busy = false;
  /** Bytes since the attempt last rested. */
  private bytes = 0;
  /** True from enough bytes until its next turn. */
  private rests = false;
  private readonly readOn: () => void;
  /** Closes the connection of a reply that was left and does not end. */
  private leaving: NodeJS.Timeout | undefined = undefined;

  constructor(
    readonly upstream: HttpUpstream,
    private readonly listener: AttemptListener,
  ) {
    this.readOn = () => {
      this.rests = false;
      this.resumeIfFree();
    };
  }

  /**
   * Sends the request with its credentials, which go first. Changes neither list: a kind may reuse its credentials.
   * `newConnection`: not on one that has served a request before.
   */
  send(outgoing: OutgoingRequest, credentials: readonly string[], newConnection = false): void {
    const { origin, path, body } = outgoing;
    if (typeof body === "object") freeOnceSent(body);
    try {
      const headers = credentials.concat(PLAIN, outgoing.headers);
      const request = { origin, path, method: "POST", headers, body, newConnection } as const;
      this.upstream.dispatcher.dispatch(request, this);
    } catch (error) {
      // undici throws if it cannot send the request at all: a header with a line break, a closed pool.
      this.fail(errorOf(error));
    }
  }

  /** Fails the attempt before anything was sent. */
  fail(error: Error): void {
    this.onResponseError(undefined, error);
  }

  /** Stops reading. TCP then slows the upstream down. */
  pause(): void {
    this.paused = true;
    this.decompressor?.pause();
    this.controller?.pause();
  }

  /**
   * Reads on, at the end of this turn at the earliest: undici reads at once when it is resumed, and must not while it
   * reads another reply, as when that one has this one cut.
   */
  resume(): void {
    this.paused = false;
    this.decompressor?.resume();
    this.rest();
  }

  private resumeIfFree(): void {
    if (!this.paused && !this.busy && !this.rests) this.controller?.resume();
  }

  /** Ignores the rest of the reply and closes its connection, unless the reply is over. */
  abort(): void {
    this.isLeft = true;
    this.decompressor?.stop();
    this.controller?.abort(new Error("the gateway has left this reply"));
  }

  /** Ignores the rest of the reply but reads it, so that its connection can be used again if it ends soon. */
  leave(): void {
    this.isLeft = true;
    this.leaving = setTimeout(() => this.abort(), REST_MS).unref();
    this.decompressor?.stop();
    const isWaiting = this.paused || this.busy;
    this.busy = false;
    if (isWaiting) this.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.isLeft) this.abort();
    else this.listener.sent();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    // A 1xx status comes before the final one.
    if (this.isLeft || status < 200) return;
    const encoding = headers["content-encoding"];
    this.decompressor = Decompressor.of(typeof encoding === "string" ? encoding : undefined, this);
    try {
      this.listener.replied(status, headers);
    } catch (error) {
      this.listener.bug(error);
    }
    if (!this.isLeft && isTurnFull()) this.rest(true);
    this.pauseIfNeeded(controller);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isLeft) return;
    this.bytes += chunk.length;
    countRead(chunk.length);
    if (this.bytes >= REPLY_BYTES_A_TURN) this.rest();
    if (this.decompressor) this.decompressor.push(chunk);
    else this.receive(chunk);
    this.pauseIfNeeded(controller);
  }

  /** A pause during a head or a chunk takes effect only when the parser has returned. */
  private pauseIfNeeded(controller: Dispatcher.DispatchController): void {
    if ((this.paused || this.busy || this.rests) && !controller.paused) controller.pause();
  }

  private rest(isAtHead = false): void {
    this.bytes = 0;
    this.rests = true;
    rest(this.readOn, isAtHead);
  }

  /** @internal */
  receive(chunk: Buffer): void {
    if (this.isLeft) return;
    try {
      this.listener.received(chunk);
    } catch (error) {
      this.listener.bug(error);
    }
  }

  /** @internal Sets whether less of the body must come: true until what came is decompressed. */
  setBusy(busy: boolean): void {
    this.busy = busy;
    if (!busy) this.resumeIfFree();
  }

  onResponseEnd(): void {
    clearTimeout(this.leaving);
    if (this.isLeft) return;
    if (this.decompressor) this.decompressor.end();
    else atEndOfTurn("reply", () => this.complete());
  }

  /** @internal */
  complete(): void {
    if (this.isLeft) return;
    try {
      this.listener.completed();
    } catch (error) {
      this.listener.bug(error);
    }
    // More bytes may follow the end of a compressed body, although nothing reads them any more.
    if (this.decompressor) this.abort();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    clearTimeout(this.leaving);
    if (this.isLeft) return;
    if (this.decompressor) this.decompressor.cut(error);
    else this.report(error);
  }

  /** @internal */
  report(error: Error): void {
    if (this.isLeft) return;
    try {
      this.listener.failed(error);
    } catch (thrown) {
      this.listener.bug(thrown);
    }
    // The body may go on although it cannot be read, or its connection may stay paused.
    if (this.decompressor) this.abort();
  }
}

/** The encodings that are read, though every request asks for none. */
const DECODERS = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

type CreateDecoder = typeof createGunzip | typeof createInflate | typeof createBrotliDecompress;
type Decoder = ReturnType<CreateDecoder>;

/**
 * Decompresses the body of one reply. Passes it on in pieces of some KB, so the limits of the reply stop a body that
 * grows without end.
 */
class Decompressor {
  private decoder: Decoder | undefined = undefined;
  private over = false;
  /** Why the connection broke. Errors of the decoder after that are only its consequence. */
  private reason: Error | undefined = undefined;

  private constructor(
    private readonly create: CreateDecoder,
    private readonly attempt: Attempt,
  ) {}

  /** Returns undefined if the body is not compressed, or has an encoding that is not read. */
  static of(stated: string | undefined, attempt: Attempt): Decompressor | undefined {
    const create = DECODERS.get(stated?.trim().toLowerCase() ?? "");
    return create && new Decompressor(create, attempt);
  }

  push(chunk: Buffer): void {
    if (this.over) return;
    this.decoder ??= this.start();
    // The chunk belongs to the parser, and is reused once this returns.
    const isReady = this.decoder.write(Buffer.from(chunk));
    if (!isReady) this.attempt.setBusy(true);
  }

  end(): void {
    if (this.over) return;
    if (this.decoder) this.decoder.end();
    else this.finish(() => this.attempt.complete());
  }

  /**
   * Ends a body whose connection broke. Passes the received part on first: the body is whole if its own end, which a
   * compressed body carries, is in that part.
   */
  cut(error: Error): void {
    if (this.over) return;
    this.reason = error;
    if (this.decoder) this.decoder.end();
    else this.finish(() => this.attempt.report(error));
  }

  pause(): void {
    this.decoder?.pause();
  }

  resume(): void {
    this.decoder?.resume();
  }

  stop(): void {
    this.over = true;
    this.decoder?.destroy();
  }

  private start(): Decoder {
    const decoder = this.create();
    decoder.on("data", (chunk: Buffer) => {
      if (!this.over) this.attempt.receive(chunk);
    });
    decoder.on("drain", () => this.attempt.setBusy(false));
    decoder.on("end", () => this.finish(() => this.attempt.complete()));
    decoder.on("error", (error) => this.finish(() => this.attempt.report(this.reason ?? error)));
    return decoder;
  }

  private finish(then: () => void): void {
    if (this.over) return;
    this.over = true;
    then();
  }
}
