import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { ambiguity } from "../body/receive.ts";
import { type Endpoint, SERVES_NOTHING } from "../catalogue/endpoint.ts";
import type { HttpRequest, HttpResponse, Listener } from "../listener/index.ts";
import { brokenBy, type EndedCall } from "../plugin/call.ts";
import type { Limits } from "../plugin/config.ts";
import { type Route, type Router, UNREAD_BODY_BYTES_MAX } from "../plugin/router.ts";
import { addressBlock } from "../process/client-address.ts";
import type { Clock } from "../process/clock.ts";
import { newId } from "../process/id.ts";
import type { Log } from "../process/log.ts";
import { withTimeout } from "../process/timeout.ts";
import { atEndOfTurn } from "../process/turn.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { ClientWire } from "../wire/wire.ts";
import { headersOf, notServed, refuseAndCut, wireOf } from "./errors.ts";
import { isEnded } from "./http-call.ts";
import { HttpCallsInFlight } from "./in-flight.ts";
import { type Arrived, Incoming, type RequestHead } from "./incoming.ts";
import { type OnOver, Pipeline } from "./pipeline.ts";
import type { Runtime } from "./runtime.ts";

const SWEEP_MS = 1000;
/** How long a stopping gateway waits for the charges of the calls that it has cut. */
const CUT_MS = 2_000;

/**
 * A stopping gateway cuts its connections once none has been used for `handoverMs`, and at least for this long, or
 * after a while at the latest: a request that is sent on one that is being cut is lost, and its client cannot know
 * whether it was served.
 */
const QUIET_MS = 250;
/** How much longer a stopping gateway waits for clients that send on, though each reply asks them to leave. */
const QUIET_MORE_MS = 2_000;
const QUIET_POLL_MS = 10;
/** If a poll is this late, the machine stood still, and with it perhaps the proxy, which did not see time pass. */
const STANDSTILL_MS = 100;

const NOTHING = (): void => {};
/** For requests that are no calls: no plugin sees them. */
const UNSEEN = { pipeline: new Pipeline([]), required: [] } as const;

/** How to begin a request. Only a call is among those in flight, and is reported when it has ended. */
interface Begun {
  readonly isCall?: boolean;
  readonly headOnly?: boolean;
  /** Default: that of its endpoint. */
  readonly wire?: ClientWire | undefined;
  /** False for pages, whose replies scripts of other origins cannot read. */
  readonly isShared?: boolean;
}

interface ServerOptions {
  readonly listener: Listener;
  /** Serves the runtime's `operatorRouter`. */
  readonly operatorListener: Listener | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** While it returns one, every new call gets it, before any plugin runs and its body is read. */
  refusal(): Refusal | undefined;
  /** Gets each ended call once, after the call's plugins. */
  onEnded(call: EndedCall): void;
}

/** Listens, takes requests to their routes, and bounds how many calls run and for how long. */
export class Server {
  /** Set it before `listen`. A reload replaces it; calls in flight keep the one that they began with. */
  runtime!: Runtime;
  readonly callsInFlight = new HttpCallsInFlight();
  private readonly onCallOver: OnOver;
  private sweeper: NodeJS.Timeout | undefined = undefined;
  /** In a handover, calls that come on open connections are still served. */
  private phase: "serving" | "handover" | "refusing" = "serving";
  /** While the gateway stops: when the last request arrived or the last call ended. */
  private lastUsedMs = 0;
  private onIdle: (() => void) | undefined = undefined;

  constructor(private readonly options: ServerOptions) {
    const { listener, operatorListener, clock, log, onEnded } = options;
    this.onCallOver = (call, pipeline) => {
      call.endedMs = clock.monotonic();
      if (this.isStopping) this.lastUsedMs = performance.now();
      this.callsInFlight.delete(call);
      if (isEnded(call)) {
        // To the plugins that it reached, then to `onEnded`, after everything that clients wait for.
        atEndOfTurn("ended", () => {
          pipeline.ended(call, log);
          onEnded(call);
        });
      }
      if (this.callsInFlight.size === 0) this.onIdle?.();
    };
    listener.any("/*", (res, req) => this.serve(res, req, this.runtime.router));
    operatorListener?.any("/*", (res, req) => {
      this.serve(res, req, this.runtime.operatorRouter ?? this.runtime.router);
    });
  }

  get engine(): string {
    return this.options.listener.build;
  }

  /** Resolves with the port. Rejects if the port cannot be bound. */
  listen(host: string, port: number): Promise<number> {
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
    return this.options.listener.listen(host, port);
  }

  /** Listens for operators too. Rejects if the port cannot be bound. */
  async listenForOperators(host: string, port: number): Promise<void> {
    await this.options.operatorListener?.listen(host, port);
  }

  get isStopping(): boolean {
    return this.phase !== "serving";
  }

  /**
   * Takes no more connections. Resolves when calls in flight have ended and clients had time to leave: a proxy does
   * not send a call twice that it sent while the connection closed. So no connection is cut that was used within
   * `handoverMs`, and each reply says that its connection closes. Calls that come in the first half of `drainMs` are
   * served, if there is a handover; later ones are refused. After `drainMs`, cuts calls in flight, and replies that are
   * not read yet.
   */
  async drain({ drainMs, handoverMs }: Pick<Limits, "drainMs" | "handoverMs">): Promise<void> {
    const beganMs = performance.now();
    await this.options.listener.stopListening();
    this.phase = handoverMs > 0 ? "handover" : "refusing";
    this.lastUsedMs = performance.now();
    for (const call of this.callsInFlight) call.replyHeaders.push("connection", "close");
    if (handoverMs > 0) await this.quiet(handoverMs, beganMs + drainMs / 2);
    this.phase = "refusing";
    await this.idle(beganMs + drainMs - performance.now());
    for (const call of this.callsInFlight) {
      const refusal = refuse.unavailable("The gateway is shutting down.");
      call.flow?.cut(brokenBy(refusal));
    }
    // The calls are charged for what they delivered before they end.
    await this.idle(CUT_MS);
    await this.repliesRead(beganMs + drainMs);
    const quietMs = Math.max(QUIET_MS, handoverMs);
    await this.quiet(quietMs, performance.now() + quietMs + QUIET_MORE_MS);
    // The turn that reports the last ended calls.
    await nextTurn();
  }

  /** Resolves once clients have read the replies of calls that have ended, which are charged, or at `untilMs`. */
  private async repliesRead(untilMs: number): Promise<void> {
    while (this.runtime.unread.bytes > 0 && performance.now() < untilMs) await delay(QUIET_POLL_MS);
  }

  /** Resolves once no connection is open, once none has been used for `quietMs`, or at `untilMs`. */
  private async quiet(quietMs: number, untilMs: number): Promise<void> {
    while (this.options.listener.connections > 0 && performance.now() < untilMs) {
      const isUsed = this.callsInFlight.size > 0 || performance.now() - this.lastUsedMs < quietMs;
      if (!isUsed) return;
      const polledMs = performance.now();
      await delay(QUIET_POLL_MS);
      const lateMs = performance.now() - polledMs - QUIET_POLL_MS;
      if (lateMs > STANDSTILL_MS) this.lastUsedMs += lateMs;
    }
  }

  close(): void {
    clearInterval(this.sweeper);
    this.options.listener.close();
    this.options.operatorListener?.close();
  }

  /** Resolves when no call is in flight, or after `limitMs`. */
  private async idle(limitMs: number): Promise<void> {
    if (this.callsInFlight.size === 0 || limitMs <= 0) return;
    const idle = new Promise<void>((resolve) => {
      this.onIdle = resolve;
    });
    await withTimeout(idle, limitMs);
  }

  private serve(res: HttpResponse, req: HttpRequest, router: Router): void {
    const { runtime } = this;
    if (this.isStopping) this.lastUsedMs = performance.now();
    const path = req.getUrl();
    const method = req.getCaseSensitiveMethod();
    const match = router.match(method, path);
    const requestId = newId(runtime.clock.now());
    const headers = headersOf(req);
    const unclear = ambiguity(headers);
    if (unclear) return refuseAndCut(res, method, wireOf(path, headers), unclear, requestId);
    const arrived = { res, headers, requestId };
    const headOnly = method === "HEAD";
    if (match.kind !== "route") {
      const endpoint = plainEndpoint(path, headers);
      const allowed = method === "OPTIONS" && runtime.cors.preflight(router, path, headers);
      if (allowed) return this.sendPreflight(arrived, endpoint, allowed);
      const refused = this.begin(arrived, endpoint, { isCall: false, headOnly });
      return refused.reject(notServed(match, path, headers));
    }
    const { route, params } = match;
    if (route.access === "call") return this.open(arrived, route);
    const isCall = route.access === "key";
    const endpoint = plainEndpoint(route.path, headers);
    const incoming = this.begin(arrived, endpoint, { isCall, headOnly, isShared: isCall });
    const remoteAddress = incoming.call.clientAddress();
    const head: RequestHead = {
      ...{ method, path, params, headers, remoteAddress, requestId },
      addressBlock: addressBlock(remoteAddress),
      query: new URLSearchParams(req.getQuery()),
    };
    const { handler, bodyBytesMax = UNREAD_BODY_BYTES_MAX } = route;
    incoming.answer(head, bodyBytesMax, handler);
  }

  /** Replies with 200: by HTTP, 204 has no length, which the listeners would write. */
  private sendPreflight(arrived: Arrived, endpoint: Endpoint, allowed: readonly string[]): void {
    const incoming = this.begin(arrived, endpoint, { isCall: false, isShared: false });
    const { headers, requestId } = arrived;
    const head: RequestHead = {
      ...{ method: "OPTIONS", path: endpoint.path, params: {}, headers, requestId },
      ...{ remoteAddress: "", addressBlock: "", query: new URLSearchParams() },
    };
    incoming.answer(head, UNREAD_BODY_BYTES_MAX, () => ({ status: 200, headers: allowed }));
  }

  private open(arrived: Arrived, { endpoint, wire }: Extract<Route, { access: "call" }>): void {
    const { runtime } = this;
    const refusal =
      this.phase === "refusing"
        ? refuse.unavailable("The gateway is shutting down; another process takes new calls.")
        : (this.callsInFlight.refusal(runtime.limits.callsMax) ?? this.options.refusal());
    if (refusal) {
      return this.begin(arrived, endpoint, { isCall: false, wire }).reject(refusal);
    }
    this.begin(arrived, endpoint, { wire }).start();
  }

  private begin(
    arrived: Arrived,
    endpoint: Endpoint,
    { isCall = true, headOnly = false, wire, isShared = true }: Begun = {},
  ): Incoming {
    const { callsInFlight } = this;
    const runtime = isCall ? this.runtime : { ...this.runtime, ...UNSEEN };
    const onOver = isCall ? this.onCallOver : NOTHING;
    const given = [arrived, runtime, endpoint, onOver, callsInFlight] as const;
    const incoming = new Incoming(...given, headOnly, wire);
    const { call } = incoming;
    if (isCall) callsInFlight.add(call);
    if (isShared) call.replyHeaders.push(...runtime.cors.headersFor(call.headers["origin"]));
    return incoming;
  }

  /** Cuts calls that have taken longer than the limit, and streams whose upstream is silent. */
  private sweep(): void {
    const { clock, limits } = this.runtime;
    const now = clock.monotonic();
    for (const call of this.callsInFlight) {
      if (now - call.startedMs < limits.callMs) {
        call.flow?.cutIfSilent(now);
        continue;
      }
      const seconds = Math.round(limits.callMs / 1000);
      if (call.flow) call.flow.overdue(brokenBy(overdue(seconds)), limits.callMs);
      else call.cutBody(bodyOverdue(seconds));
    }
  }
}

function overdue(seconds: number): Refusal {
  return refuse.timedOut(
    `The call took longer than the limit of ${seconds} seconds: the model's upstream provider has not finished its reply.`,
  );
}

function bodyOverdue(seconds: number): Refusal {
  return refuse.as(
    408,
    "timeout_error",
    `The request did not arrive within the limit of ${seconds} seconds.`,
  );
}

/** Returns the endpoint of a request that serves no model: its protocol is that of errors. */
function plainEndpoint(path: string, headers: Readonly<Record<string, string>>): Endpoint {
  return { ...SERVES_NOTHING, path, protocol: wireOf(path, headers).protocol };
}
