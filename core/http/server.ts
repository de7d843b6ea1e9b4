import { setTimeout as delay } from "node:timers/promises";
import type { EndedCall } from "../contract/call.ts";
import { type Endpoint, KEYED_SERVES_NOTHING } from "../contract/endpoint.ts";
import { type Refusal, refuse } from "../contract/refusal.ts";
import type { Router } from "../contract/routes/router.ts";
import type { HttpRequest, HttpResponse, Listener } from "../listener/index.ts";
import { newId } from "../process/id.ts";
import { withTimeout } from "../process/timeout.ts";
import { ambiguity, boundDeclared, declaredLength, isChunked, readBody } from "./body.ts";
import { EndedCalls } from "./ended-calls.ts";
import { headersOf, notServed, refuseAndCut, sendRefusal, wireOf } from "./errors.ts";
import { isEnded } from "./http-call.ts";
import { HttpCallsInFlight } from "./in-flight.ts";
import { Incoming, LINGER_MS } from "./incoming.ts";
import type { OnOver } from "./pipeline.ts";
import { requestHead, servePlain } from "./plain.ts";
import type { Runtime } from "./runtime.ts";

const SWEEP_MS = 1000;
/** How long a stopping gateway waits for the charges of the calls that it has cut. */
const CUT_MS = 2_000;

/**
 * A stopping gateway cuts its connections once no request has come for this long, or after a while at the latest: a
 * request that is sent on one that is being cut is lost, and its client cannot know whether it was served.
 */
const QUIET_MS = 250;
const QUIET_MS_MAX = 2_000;
const QUIET_POLL_MS = 25;

/** Listens, takes requests to their routes, and bounds how many calls run and for how long. */
export class Server {
  /** A reload replaces it. Calls in flight keep the one that they began with. */
  runtime: Runtime;
  readonly callsInFlight = new HttpCallsInFlight();
  private readonly ended: EndedCalls;
  private readonly onCallOver: OnOver;
  private readonly refusal: () => Refusal | undefined;
  private readonly listener: Listener;
  private readonly operatorListener: Listener | undefined;
  private sweeper: NodeJS.Timeout | undefined = undefined;
  private draining = false;
  /** When the last request arrived while the gateway was draining. */
  private lastRequestMs = 0;
  private onIdle: (() => void) | undefined = undefined;

  /**
   * `onEnded` gets each ended call once, after the call's plugins. While `refusal` returns one,
   * every new call gets it, before any plugin runs and its body is read. `operatorListener` serves
   * the runtime's `operatorRouter`.
   */
  constructor(
    listener: Listener,
    runtime: Runtime,
    onEnded: (call: EndedCall) => void,
    refusal: () => Refusal | undefined = () => undefined,
    operatorListener?: Listener,
  ) {
    this.listener = listener;
    this.operatorListener = operatorListener;
    this.runtime = runtime;
    this.refusal = refusal;
    this.ended = new EndedCalls(onEnded, runtime.log);
    this.onCallOver = (call, pipeline) => {
      call.endedMs = runtime.clock.monotonic();
      this.callsInFlight.delete(call);
      if (isEnded(call)) this.ended.add(call, pipeline);
      if (this.callsInFlight.size === 0) this.onIdle?.();
    };
    listener.any("/*", (res, req) => this.serve(res, req, this.runtime.router));
    operatorListener?.any("/*", (res, req) => {
      this.serve(res, req, this.runtime.operatorRouter ?? this.runtime.router);
    });
  }

  /** Resolves with the port. Rejects if the port cannot be bound. */
  listen(host: string, port: number, shared: boolean): Promise<number> {
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
    return this.listener.listen(host, port, shared);
  }

  /** Listens for operators too. Rejects if the port cannot be bound. */
  async listenForOperators(host: string, port: number, shared: boolean): Promise<void> {
    await this.operatorListener?.listen(host, port, shared);
  }

  /** Refuses new calls and resolves when those in flight have ended. After `limitMs`, cuts them. */
  async drain(limitMs: number): Promise<void> {
    this.draining = true;
    this.lastRequestMs = performance.now();
    this.listener.stopListening();
    await this.idle(limitMs);
    for (const call of this.callsInFlight) {
      const refusal = refuse.unavailable("The gateway is shutting down.");
      call.flow?.cut({ kind: "broken", refusal, truncated: false, errorSent: false });
    }
    // The calls are charged for what they delivered before they end.
    await this.idle(CUT_MS);
    await this.quiet();
    this.ended.report();
  }

  /** Resolves once no request has come for a while. Until then, each connection gets one more reply, which ends it. */
  private async quiet(): Promise<void> {
    const lateMs = performance.now() + QUIET_MS_MAX;
    for (;;) {
      const nowMs = performance.now();
      if (nowMs >= lateMs || nowMs - this.lastRequestMs >= QUIET_MS) return;
      await delay(QUIET_POLL_MS);
    }
  }

  close(): void {
    clearInterval(this.sweeper);
    this.listener.close();
    this.operatorListener?.close();
  }

  /** Resolves when no call is in flight, or after `limitMs`. */
  private async idle(limitMs: number): Promise<void> {
    if (this.callsInFlight.size === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.onIdle = resolve;
    });
    await withTimeout(idle, limitMs);
  }

  private serve(res: HttpResponse, req: HttpRequest, router: Router): void {
    const { runtime } = this;
    if (this.draining) this.lastRequestMs = performance.now();
    const path = req.getUrl();
    const method = req.getCaseSensitiveMethod();
    const match = router.match(method, path);
    const id = newId(runtime.clock.now());
    const headers = headersOf(req);
    const unclear = ambiguity(headers);
    if (unclear) return refuseAndCut(res, method, wireOf(path, headers), unclear, id);
    if (match.kind !== "route") {
      return this.refuse(res, method, headers, path, notServed(match, path), id);
    }
    const { route } = match;
    switch (route.access) {
      case "call":
        return this.open(res, headers, route.endpoint, id);
      case "key": {
        const head = requestHead(res, req, path, match.params, headers, id);
        const { protocol } = wireOf(path, headers);
        const endpoint = { ...KEYED_SERVES_NOTHING, path: route.path, protocol };
        const incoming = this.begin(res, endpoint, headers, id, method === "HEAD");
        return incoming.answer(head, route.bodyBytesMax, route.handler);
      }
      default: {
        const head = requestHead(res, req, path, match.params, headers, id);
        return servePlain(res, head, route.bodyBytesMax, route.handler, runtime.log);
      }
    }
  }

  /** Refuses a request that is not a call. If its body is chunked, waits a moment for its end first. */
  private refuse(
    res: HttpResponse,
    method: string,
    headers: Readonly<Record<string, string>>,
    path: string,
    refusal: Refusal,
    id: string,
  ): void {
    if (!isChunked(headers)) {
      boundDeclared(res, declaredLength(headers));
      return sendRefusal(res, method, wireOf(path, headers), refusal, id, this.draining);
    }
    let isDone = false;
    const end = (close: boolean) => {
      if (isDone) return;
      isDone = true;
      clearTimeout(linger);
      sendRefusal(res, method, wireOf(path, headers), refusal, id, close || this.draining);
    };
    const linger = setTimeout(() => end(true), LINGER_MS);
    res.onAborted(() => {
      isDone = true;
      clearTimeout(linger);
    });
    const over = () => end(false);
    readBody(res, this.runtime.limits.bodyBytesMax, over, over).discard();
  }

  private open(
    res: HttpResponse,
    headers: Readonly<Record<string, string>>,
    endpoint: Endpoint,
    id: string,
  ): void {
    const { runtime } = this;
    const refusal = this.draining
      ? refuse.unavailable("The gateway is shutting down; another process takes new calls.")
      : this.callsInFlight.places >= runtime.limits.callsMax
        ? refuse.unavailable(
            "The gateway has as many calls in flight as it can take; try again shortly.",
          )
        : this.refusal();
    if (refusal) return this.refuse(res, "POST", headers, endpoint.path, refusal, id);
    this.begin(res, endpoint, headers, id).start();
  }

  private begin(
    res: HttpResponse,
    endpoint: Endpoint,
    headers: Readonly<Record<string, string>>,
    id: string,
    headOnly = false,
  ): Incoming {
    const { runtime, onCallOver, callsInFlight } = this;
    const incoming = new Incoming(
      res,
      runtime,
      endpoint,
      headers,
      id,
      onCallOver,
      callsInFlight,
      headOnly,
    );
    callsInFlight.add(incoming.call);
    return incoming;
  }

  /** Cuts calls that have run for longer than the limit, and streams whose upstream is silent. */
  private sweep(): void {
    const { clock, limits } = this.runtime;
    const now = clock.monotonic();
    for (const call of this.callsInFlight) {
      if (now - call.startedMs < limits.callMs) {
        call.flow?.cutIfSilent(now);
        continue;
      }
      const seconds = Math.round(limits.callMs / 1000);
      const message = `The call took longer than the limit of ${seconds} seconds: the model's upstream provider has not finished its reply.`;
      const refusal = refuse.timedOut(message);
      call.flow?.cut({ kind: "broken", refusal, truncated: false, errorSent: false });
    }
  }
}
