import {
  COMPLETE,
  type Flow,
  GONE,
  type Outcome,
  REFUSED,
  type UpstreamRequest,
} from "../contract/call.ts";
import type { Route } from "../contract/catalogue.ts";
import type { Sink } from "../contract/plugin.ts";
import { kindOf, type Wire } from "../contract/protocol.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { type ServerEvent, SseReader } from "../sse/reader.ts";
import { wires } from "../wire/index.ts";
import { Attempt, type AttemptListener, type Headers } from "./attempt.ts";
import { broken, refusedUnreadably } from "./broken.ts";
import { encodeForm } from "./form.ts";
import { chooseRoute } from "./route.ts";
import type { ServedCall } from "./served-call.ts";
import type { ConnectedUpstreams } from "./upstreams.ts";

/** One call is tried at most this often, over all its routes. */
const ATTEMPTS_MAX = 3;

/** Headers of an upstream's reply that its client is to see. */
const PASSED_HEADERS = ["content-type", "retry-after", "retry-after-ms"] as const;

/** Statuses below 500 that another upstream may well answer differently. */
const TRY_ELSEWHERE = new Set([401, 402, 403, 408, 429]);

/** Statuses by which an upstream refuses the gateway's own account: none of the client's business. */
const ACCOUNT_REFUSED = new Set([401, 402, 403]);

/**
 * Sends a call upstream and brings its reply back into a sink. Before the first byte of a reply a failed
 * attempt moves on to the next route; after it, the reply ends with an error.
 */
export class Exchange implements AttemptListener, Flow {
  private readonly call: ServedCall;
  private readonly sink: Sink;
  /** Sends to the client what the sink has gathered, and closes the call if the sink was ended. */
  private readonly onFlush: () => void;
  /** Ends the call whatever state its sinks are in, and says why in the log. */
  private readonly onBug: (error: unknown) => void;
  private readonly upstreams: ConnectedUpstreams;
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly wire: Wire;
  private readonly onEvent: (event: ServerEvent) => void;

  private readonly tried: Route[] = [];
  private attempt: Attempt | undefined = undefined;
  private status = 0;
  private resent = false;
  private reader: SseReader | undefined = undefined;
  /** The upstream's own error event has gone through. */
  private told = false;
  private over = false;
  /** The last two events: where a stream ends without a terminal event, they say whether it was whole. */
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
    this.upstreams = upstreams;
    this.clock = clock;
    this.log = log;
    this.wire = wires[call.upstream?.protocol ?? call.endpoint.protocol];
    this.onEvent = (event) => this.readEvent(event);
  }

  /** Asks the best route that is left; ends the call where there is none. */
  start(): void {
    const { call } = this;
    const request = call.upstream;
    const route = this.nextRoute();
    const upstream = route && this.upstreams.get(route.upstream);
    const base = request && upstream?.base(request.protocol);
    if (!request || !route || !upstream || !base) {
      const message = "The model's upstream provider cannot be reached. Nothing was charged.";
      return this.finish(broken(message));
    }
    this.tried.push(route);
    const headers = upstream.headers(request.protocol);
    for (const part of request.headers) headers.push(part);
    const body = this.encode(request, route, headers);
    if (body === undefined) return this.start();
    call.step("dispatched");
    call.route = route;
    call.attempts++;
    upstream.breaker.begin();
    this.attempt = new Attempt(upstream, this);
    this.attempt.send(base.origin, base.prefix + request.path, headers, body);
  }

  /** The body as it goes out, with its content type added to the headers. */
  private encode(
    request: UpstreamRequest,
    route: Route,
    headers: string[],
  ): string | Buffer | undefined {
    if (request.form) {
      const form = encodeForm(request.form, { model: route.model });
      headers.push("content-type", form.contentType);
      return form.body;
    }
    const json = request.bodyFor ? request.bodyFor(route) : request.body;
    if (json === undefined) return undefined;
    json["model"] = route.model;
    if (request.outputLimit !== undefined) this.wire.limitOutput(json, request.outputLimit);
    if (request.wantsUsage) this.wire.askForUsage(json);
    headers.push("content-type", "application/json");
    return JSON.stringify(json);
  }

  replied(status: number, headers: Headers): void {
    this.status = status;
    const breaker = this.attempt?.upstream.breaker;
    // No provider's API redirects: something else answers at its address, and where that points is no client's matter.
    const failed = status >= 500 || (status >= 300 && status < 400);
    if (failed) breaker?.fail(`HTTP ${status}`);
    else if (TRY_ELSEWHERE.has(status)) {
      breaker?.forget();
      breaker?.note(`HTTP ${status}`);
    } else breaker?.succeed();
    if (failed || TRY_ELSEWHERE.has(status)) {
      if (this.nextRoute()) {
        this.attempt?.abort();
        this.status = 0;
        return this.start();
      }
      if (failed || ACCOUNT_REFUSED.has(status)) return this.cut(this.providerFailed(status));
    }
    const type = single(headers["content-type"]);
    if (status >= 400 && type !== undefined && !type.includes("json")) {
      return this.cut(refusedUnreadably(status, single(headers["retry-after"])));
    }
    const passed: string[] = [];
    for (const name of PASSED_HEADERS) {
      const value = single(headers[name]);
      if (value !== undefined) passed.push(name, value);
    }
    if (status === 200 && type?.startsWith("text/event-stream")) {
      this.reader = new SseReader();
    }
    this.call.step("replying");
    this.sink.head(status, passed);
  }

  received(chunk: Buffer): void {
    if (this.call.firstByteAtMs === 0) this.call.firstByteAtMs = this.clock.monotonic();
    if (!this.reader) this.sink.data(chunk);
    else if (!this.reader.push(chunk, this.onEvent)) {
      return this.cut(broken("The upstream sent an event larger than this gateway takes."));
    }
    if (!this.over) this.flush();
  }

  completed(): void {
    this.reader?.end(this.onEvent);
    if (this.over) return;
    if (this.status >= 400) return this.finish(REFUSED);
    if (!this.reader) return this.finish(COMPLETE);
    const whole = !this.told && (this.mayEndAt(this.last) || this.mayEndAt(this.beforeLast));
    if (whole) return this.finish(COMPLETE);
    this.attempt?.upstream.breaker.fail("a stream ended before completion");
    const outcome = broken("Upstream stream ended before completion");
    this.finish({ ...outcome, truncated: true, told: this.told });
  }

  failed(error: Error): void {
    const code = "code" in error ? error.code : undefined;
    const upstream = this.attempt?.upstream;
    upstream?.breaker.fail(typeof code === "string" ? code : "the connection failed");
    this.log.debug({ call_id: this.call.id, upstream: upstream?.name, code }, "upstream failed");
    if (this.status !== 0) {
      const outcome = broken("The connection to the upstream broke.");
      return this.finish({ ...outcome, told: this.told });
    }
    // An idle connection may be closed by the other side in the very moment it is used again: the request
    // was then never read, and the same upstream deserves one more try.
    if (code === "UND_ERR_SOCKET" && !this.resent) {
      this.resent = true;
      this.tried.pop();
    }
    this.start();
  }

  /** A plugin has thrown on the way back; nothing that it was to pass on can be relied upon. */
  bug(error: unknown): void {
    this.over = true;
    if (this.status === 0) this.attempt?.upstream.breaker.forget();
    this.attempt?.abort();
    this.onBug(error);
  }

  /** Called after each chunk and after the end of the sink; a plugin that writes outside of both calls it too. */
  flush(): void {
    try {
      this.onFlush();
    } catch (error) {
      this.bug(error);
    }
  }

  pause(): void {
    this.attempt?.pause();
  }

  resume(): void {
    this.attempt?.resume();
  }

  /** Ends the reply as `outcome` says and cancels the upstream. */
  cut(outcome: Outcome): void {
    if (this.over) return;
    if (this.status === 0) this.attempt?.upstream.breaker.forget();
    this.attempt?.abort();
    this.finish(outcome);
  }

  private readEvent(event: ServerEvent): void {
    if (this.over) return;
    this.beforeLast = this.last;
    this.last = event;
    const kind = kindOf(event, this.wire);
    if (kind === "error") this.told = true;
    this.sink.event(event);
    if (kind === "terminal" && !this.over) {
      this.attempt?.leave();
      this.finish(COMPLETE);
    }
  }

  private mayEndAt(event: ServerEvent | undefined): boolean {
    return event !== undefined && this.wire.mayEndAt(event);
  }

  private finish(outcome: Outcome): void {
    if (this.over) return;
    this.over = true;
    try {
      this.sink.end(this.call.gone && outcome.kind === "broken" ? GONE : outcome);
    } catch (error) {
      return this.bug(error);
    }
    // Only when every sink has returned, so that a plugin that fails in its `end` fails before the charge is made.
    this.flush();
  }

  private nextRoute(): Route | undefined {
    const { model, upstream, attempts, gone } = this.call;
    if (!model || !upstream || attempts >= ATTEMPTS_MAX || gone) return undefined;
    for (;;) {
      const route = chooseRoute(model, upstream.protocol, this.tried, this.upstreams);
      if (!route || !upstream.bodyFor || upstream.bodyFor(route)) return route;
      // Another route may do what this one's dialect cannot express; a reply that is there already beats none.
      this.tried.push(route);
    }
  }

  /** The upstream's trouble is its own or the gateway's, and no other route is left. */
  private providerFailed(status: number): Outcome {
    if (!ACCOUNT_REFUSED.has(status)) {
      return broken(`The upstream provider failed with HTTP ${status}. Nothing was charged.`);
    }
    const upstream = this.attempt?.upstream.name;
    this.log.error(
      { upstream, status },
      "an upstream refuses the gateway's key: check its account",
    );
    return broken("The upstream provider cannot be used at the moment. Nothing was charged.");
  }
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
