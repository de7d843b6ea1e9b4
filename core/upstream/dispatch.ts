import type { RequestBody } from "../body/request-body.ts";
import { outputTokensMax, type Route } from "../catalogue/catalogue.ts";
import { maxTokensField } from "../catalogue/profile.ts";
import { GONE, type Outcome, type UpstreamRequest } from "../plugin/call.ts";
import type { OutgoingCall, OutgoingRequest } from "../plugin/upstream-kind.ts";
import type { Clock } from "../process/clock.ts";
import { objectOf } from "../process/json.ts";
import type { Log } from "../process/log.ts";
import { type TIMED_OUT, withTimeout } from "../process/timeout.ts";
import type { Wire } from "../wire/wire.ts";
import { Attempt, type AttemptListener } from "./attempt.ts";
import { broken } from "./broken.ts";
import { type FailureCause, isOwnFailure, NotAuthorised } from "./failure-cause.ts";
import { FormBody } from "./form.ts";
import { chooseRoute } from "./route.ts";
import type { ServedCall } from "./served-call.ts";
import type { ConnectedUpstreams, HttpUpstream } from "./upstreams.ts";

/** Maximum attempts per call, over all its routes. */
const ATTEMPTS_MAX = 3;

/** A route, and the request for it. */
interface Prepared {
  readonly route: Route;
  readonly upstream: HttpUpstream;
  readonly request: OutgoingRequest;
}

type Content = Pick<OutgoingCall, "contentType" | "body">;

/** The request side of an exchange: chooses a route, builds the request for it and sends it. */
export class Dispatch {
  private readonly call: ServedCall;
  private readonly wire: Wire;
  private readonly upstreams: ConnectedUpstreams;
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly listener: AttemptListener;
  private readonly tried: Route[];
  private prepared: Prepared | undefined = undefined;
  private resent = false;
  /** The latest attempt; undefined before the first. */
  attempt: Attempt | undefined = undefined;

  constructor(
    call: ServedCall,
    wire: Wire,
    upstreams: ConnectedUpstreams,
    clock: Clock,
    log: Log,
    listener: AttemptListener,
  ) {
    this.call = call;
    this.tried = [...call.excludedRoutes];
    this.wire = wire;
    this.upstreams = upstreams;
    this.clock = clock;
    this.log = log;
    this.listener = listener;
  }

  /**
   * Returns true if another attempt can be made. Builds its request now, so that the exchange drops
   * a reply only for a request that exists.
   */
  prepare(): boolean {
    this.prepared ??= this.prepareNext();
    return this.prepared !== undefined;
  }

  /**
   * Sends the prepared request: at once, unless the upstream's kind has to wait for credentials.
   */
  send(): void {
    const { prepared, call } = this;
    if (!prepared) return;
    this.prepared = undefined;
    const { route, upstream, request } = prepared;
    call.step("dispatched");
    call.route = route;
    call.attempts++;
    upstream.breaker.begin();
    const attempt = new Attempt(upstream, this.listener);
    this.attempt = attempt;
    let credentials: string[] | Promise<string[]>;
    try {
      credentials = upstream.adapter.authorise(request, this.clock.now());
    } catch (error) {
      return this.notAuthorised(attempt, nameOf(error));
    }
    if (Array.isArray(credentials)) attempt.send(request, credentials);
    else void this.sendLater(attempt, request, credentials);
  }

  /**
   * Waits for the credentials. Sends nothing if the call has ended or its client has left by then.
   */
  private async sendLater(
    attempt: Attempt,
    request: OutgoingRequest,
    pending: Promise<string[]>,
  ): Promise<void> {
    let credentials: string[] | typeof TIMED_OUT | undefined;
    let reason = "timed out";
    try {
      credentials = await withTimeout(pending, attempt.upstream.connectMs);
    } catch (error) {
      reason = nameOf(error);
    }
    if (attempt.isLeft) return;
    if (this.call.gone) this.call.flow?.cut(GONE);
    else if (Array.isArray(credentials)) attempt.send(request, credentials);
    else this.notAuthorised(attempt, reason);
  }

  private notAuthorised(attempt: Attempt, reason: string): void {
    const fields = { call_id: this.call.id, upstream: attempt.upstream.name, reason };
    this.log.error(fields, "cannot get credentials for an upstream; trying the next route");
    attempt.fail(new NotAuthorised(reason));
  }

  /** Counts a failure of the latest attempt against its upstream, unless that had no part in it. */
  failed(failure: FailureCause): void {
    const breaker = this.attempt?.upstream.breaker;
    if (isOwnFailure(failure)) {
      breaker?.forget();
      const upstream = this.attempt?.upstream.name;
      const fields = { call_id: this.call.id, upstream, reason: failure.reason };
      this.log.error(fields, "cannot send a call to an upstream; trying the next route");
    } else breaker?.fail(failure.reason, failure.cause);
    this.record(failure);
  }

  /** Notes a refusal that says nothing of the upstream's health, such as of the gateway's key. */
  refused(failure: FailureCause): void {
    const breaker = this.attempt?.upstream.breaker;
    breaker?.forget();
    breaker?.note(failure.reason, failure.cause);
    this.record(failure);
  }

  /** Keeps why the latest attempt failed, for the call's log line and the metrics. */
  record({ cause, reason }: FailureCause): void {
    const upstream = this.attempt?.upstream.name;
    if (upstream === undefined) return;
    const { call } = this;
    call.failedAttempts = [...call.failedAttempts, { upstream, cause, reason }];
  }

  /** Returns the outcome if the provider or the gateway's account there is at fault, and no other route is left. */
  providerFailed(status: number, refusal: "account" | "failed"): Outcome {
    if (refusal === "failed") {
      return broken(`The upstream provider failed with HTTP ${status}. Nothing was charged.`);
    }
    const upstream = this.attempt?.upstream.name;
    this.log.error(
      { upstream, status },
      "an upstream refuses the gateway's key; its calls get 502: check the account there",
    );
    return broken("The upstream provider cannot be used at the moment. Nothing was charged.");
  }

  /**
   * Allows the last route to be tried again, once per call. The upstream may close an idle
   * connection just as it is reused; it has then not read the request.
   */
  allowResend(): void {
    if (this.resent) return;
    this.resent = true;
    this.tried.pop();
  }

  /** Prepares another attempt on the last route, for a call whose request has changed. */
  prepareAgain(): boolean {
    this.tried.pop();
    return this.prepare();
  }

  private prepareNext(): Prepared | undefined {
    const request = this.call.upstream;
    if (!request) return undefined;
    for (;;) {
      const route = this.nextRoute(request);
      if (!route) return undefined;
      this.tried.push(route);
      const prepared = this.requestFor(route, request);
      if (prepared) return prepared;
    }
  }

  private nextRoute({ protocol }: UpstreamRequest): Route | undefined {
    const { model, attempts, gone } = this.call;
    if (!model || attempts >= ATTEMPTS_MAX || gone) return undefined;
    return chooseRoute(model, protocol, this.tried, this.upstreams);
  }

  /** Returns the request for this route; undefined if the call cannot be expressed there. */
  private requestFor(route: Route, request: UpstreamRequest): Prepared | undefined {
    const upstream = this.upstreams.get(route.upstream);
    if (!upstream) return undefined;
    const content = this.contentFor(route, request);
    if (!content) return undefined;
    const { protocol, path } = request;
    const { stream, upstreamHeaders } = this.call;
    const isAdded = upstreamHeaders.length > 0;
    const headers = isAdded ? request.headers.concat(upstreamHeaders) : request.headers;
    const call = { protocol, path, stream, ...content, headers };
    const made = upstream.adapter.request(call, route);
    return made && { route, upstream, request: made };
  }

  /** Returns the body with the fields that depend on the route and on the hold. */
  private contentFor(route: Route, request: UpstreamRequest): Content | undefined {
    if (request.form) {
      const form = new FormBody(request.form);
      form.set("model", route.model);
      return { contentType: form.contentType, body: form };
    }
    const body = (request.bodyFor ? request.bodyFor(route) : request.body)?.copy();
    if (!body) return undefined;
    body.set("model", route.model);
    this.limitOutput(route, body, request);
    if (request.wantsUsage) this.wire.askForUsage(body);
    return { contentType: "application/json", body };
  }

  /**
   * Sets the output limit that the hold covers: one limit, at most the model's, under the name that the route knows. A
   * call that is not streamed gets one even if its client states none.
   */
  private limitOutput(route: Route, body: RequestBody, { outputLimit }: UpstreamRequest): void {
    const { model, stream } = this.call;
    if (!model) return;
    const stated = this.wire.outputLimit(body);
    if (stated === undefined && outputLimit === undefined && stream) return;
    const most = outputTokensMax(stated, model);
    const limit = outputLimit === undefined ? most : Math.min(outputLimit, most);
    const upstream = this.upstreams.get(route.upstream)?.config.profile ?? {};
    this.wire.limitOutput(body, limit, maxTokensField(upstream, route.profile));
  }
}

/**
 * Returns what an operator may see of an error: never its message, which may quote a token or an
 * address with one.
 */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { code } = "code" in error ? error : (objectOf(error.cause) ?? {});
  return typeof code === "string" ? code : error.name;
}
