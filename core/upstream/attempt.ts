import type { Dispatcher } from "undici";
import { errorOf } from "../process/thrown.ts";
import { atEndOfTurn } from "../process/turn.ts";
import type { OutgoingRequest } from "./kinds/kind.ts";
import type { HttpUpstream } from "./upstreams.ts";

/** What an exchange hears of the attempt that is under way. */
export interface AttemptListener {
  replied(status: number, headers: Headers): void;
  received(chunk: Buffer): void;
  completed(): void;
  failed(error: Error): void;
  /** One of the above has thrown, which undici would take for trouble with the connection. */
  bug(error: unknown): void;
}

export type Headers = Record<string, string | string[] | undefined>;

/**
 * One request to one upstream: undici's five callbacks. Once left, it says nothing more, whatever still
 * comes back, so that an exchange may go on to the next route without a second voice in its ear.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly upstream: HttpUpstream;
  private readonly listener: AttemptListener;
  private controller: Dispatcher.DispatchController | undefined = undefined;
  private left = false;
  private paused = false;

  constructor(upstream: HttpUpstream, listener: AttemptListener) {
    this.upstream = upstream;
    this.listener = listener;
  }

  /** Sends the request with its credentials, which go first. Changes neither: a kind may keep its credentials. */
  send(outgoing: OutgoingRequest, credentials: readonly string[]): void {
    const { origin, path, body } = outgoing;
    try {
      const headers = credentials.concat(outgoing.headers);
      const request = { origin, path, method: "POST", headers, body } as const;
      this.upstream.dispatcher.dispatch(request, this);
    } catch (error) {
      // undici throws on what it cannot send at all: a header with a line break, a closed pool.
      this.fail(errorOf(error));
    }
  }

  /** The attempt has failed before anything was sent. */
  fail(error: Error): void {
    this.onResponseError(undefined, error);
  }

  /** True once the exchange needs no more of it. */
  get isLeft(): boolean {
    return this.left;
  }

  /** Stops reading; the upstream is held back by TCP. */
  pause(): void {
    this.paused = true;
    this.controller?.pause();
  }

  resume(): void {
    this.paused = false;
    this.controller?.resume();
  }

  /** Hears nothing more and closes the connection if the reply is not over. */
  abort(): void {
    this.left = true;
    this.controller?.abort(new Error("the gateway has left this reply"));
  }

  /** Hears nothing more, but reads the reply to its end, so that its connection can serve again. */
  leave(): void {
    this.left = true;
    if (this.paused) this.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.left) this.abort();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    // 1xx statuses only announce the real one.
    if (this.left || status < 200) return;
    try {
      this.listener.replied(status, headers);
    } catch (error) {
      this.listener.bug(error);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.left) return;
    try {
      this.listener.received(chunk);
    } catch (error) {
      return this.listener.bug(error);
    }
    // A pause in the middle of a chunk takes hold only when the parser is back from it.
    if (this.paused && !controller.paused) controller.pause();
  }

  onResponseEnd(): void {
    if (!this.left) atEndOfTurn("reply", () => this.complete());
  }

  private complete(): void {
    if (this.left) return;
    try {
      this.listener.completed();
    } catch (error) {
      this.listener.bug(error);
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.left) return;
    try {
      this.listener.failed(error);
    } catch (thrown) {
      this.listener.bug(thrown);
    }
  }
}
