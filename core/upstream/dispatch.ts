import { randomBytes } from "node:crypto";
import type { FormPart } from "../body/form.ts";
import type { RequestBody } from "../body/request-body.ts";
import { outputTokensMax, type Route } from "../catalogue/catalogue.ts";
import { PROTOCOLS } from "../catalogue/endpoint.ts";
import { maxTokensField, mergeProfiles, type Profile } from "../catalogue/profile.ts";
import { GONE, type UpstreamRequest } from "../plugin/call.ts";
import type { OutgoingBody, OutgoingCall, OutgoingRequest } from "../plugin/upstream-kind.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { betaFor } from "../wire/features/betas.ts";
import type { Wire } from "../wire/wire.ts";
import { Attempt, type AttemptListener } from "./attempt.ts";
import { conversationOf, drawnConversation } from "./conversation.ts";
import { type FailureCause, failures, isOwnFailure, type NotAuthorised } from "./failure-cause.ts";
import type { Refused } from "./fault.ts";
import { chooseWay, type Way } from "./route.ts";
import type { ServedCall } from "./served-call.ts";
import type { ConnectedUpstreams } from "./upstreams.ts";

/** Maximum attempts per call, over all its routes and keys. Most are refusals, which cost nothing. */
const ATTEMPTS_MAX = 6;
/** Of these, the attempts that providers may bill although nothing of them reaches the client. */
const LOST_MAX = 3;

/** How long a stream may be without content if nothing states it; `limits` bounds it too. */
const FIRST_BYTE_MS = 120_000;

/** The likely input is the average of texts: many have more tokens. */
const LIKELY_MARGIN = 1.25;
/** The least output tokens that a call without a limit may write, however long its prompt is. */
const OUTPUT_ROOM_MIN = 4_096;

/** Faults for which another key of the same upstream is tried before another route. */
const OF_THE_KEY: ReadonlySet<string> = new Set(["limit", "key", "access", "account"]);

interface Prepared {
  readonly way: Way;
  readonly request: OutgoingRequest;
  /** True if it asks for a tier whose limit is not that of other calls: the key may serve those. */
  readonly hasOwnLimit: boolean;
  /** True for the second try of one that a connection has left without a reply. */
  readonly isRepeated: boolean;
}

type Content = Pick<OutgoingCall, "contentType" | "body">;

/** The request side of an exchange: chooses a route, builds the request for it and sends it. */
export class Dispatch {
  /** Routes that cannot express the call, or whose provider refuses it. */
  private excluded: readonly Route[];
  private readonly tried: Way[] = [];
  private keyFailed = false;
  private lost = 0;
  private prepared: Prepared | undefined = undefined;
  private repeated = false;
  /** As `conversationOf` names it, else drawn; 0 if there is only one way. */
  private readonly conversation: number;
  /** True while the latest attempt counts as a call in flight of its key. */
  private isUnderWay = false;
  private hasOwnLimit = false;
  /** When the latest attempt was sent, on the monotonic clock. */
  private sentMs = 0;
  /** The way of the latest attempt; undefined before the first. */
  way: Way | undefined = undefined;
  attempt: Attempt | undefined = undefined;

  constructor(
    private readonly call: ServedCall,
    private readonly wire: Wire,
    private readonly upstreams: ConnectedUpstreams,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly listener: AttemptListener,
  ) {
    this.excluded = call.excludedRoutes;
    this.conversation = this.hasChoice ? conversationOf(call) || drawnConversation() : 0;
  }

  private get hasChoice(): boolean {
    const routes = this.call.model?.routes ?? [];
    const [only] = routes;
    return routes.length > 1 || (this.upstreams.get(only?.upstream ?? "")?.keys.length ?? 0) > 1;
  }

  /**
   * Returns true if another attempt can be made; with `canWait`, by a key and a route that are not known to fail. Builds its
   * request now, so that the exchange drops a reply only for a request that exists.
   */
  prepare(canWait = false): boolean {
    this.prepared ??= this.prepareNext(canWait);
    return this.prepared !== undefined;
  }

  /** How long the latest attempt may take to its first content, or to its whole reply if it is not streamed. */
  get patienceMs(): number {
    const { way, call } = this;
    if (!way) return Number.POSITIVE_INFINITY;
    const { route, upstream } = way;
    const isWhole = isSilentUntilWhole(call);
    const seconds = isWhole ? route.reply_seconds : route.first_byte_seconds;
    if (seconds !== undefined) return seconds * 1_000;
    const { firstByteMs, replyMs } = upstream.config;
    if (isWhole) return replyMs;
    return firstByteMs ?? (this.mayThinkSilently(route) ? Number.POSITIVE_INFINITY : FIRST_BYTE_MS);
  }

  /** Streams of Messages and Responses show at once that a model thinks. By Chat it would be billed and left, again and again. */
  private mayThinkSilently(route: Route): boolean {
    const { model, upstream: request } = this.call;
    if (this.wire.protocol !== "chat" || !model || !request) return false;
    return this.upstreams.hidesReasoning(model, request, [route]);
  }

  /** Sends the prepared request: at once, unless the upstream's kind has to wait for credentials. */
  send(): void {
    const { prepared, call } = this;
    if (!prepared) return;
    this.prepared = undefined;
    const { way, request, hasOwnLimit } = prepared;
    const { route, upstream, key } = way;
    call.step("dispatched");
    this.end();
    this.way = way;
    call.route = route;
    call.upstreamKey = key.last4;
    call.attempts++;
    upstream.breakers.begin(route.model);
    this.isUnderWay = true;
    this.hasOwnLimit = hasOwnLimit;
    this.sentMs = this.clock.monotonic();
    key.use(route.model, this.sentMs);
    const attempt = new Attempt(upstream, this.listener);
    this.attempt = attempt;
    const credentials = upstream.authorise(request, key);
    if (!(credentials instanceof Promise)) return this.sendWith(credentials, attempt, prepared);
    void credentials.then((got) => this.sendWith(got, attempt, prepared));
  }

  /** Sends nothing if the call has ended or its client has left by then. */
  private sendWith(
    credentials: string[] | NotAuthorised,
    attempt: Attempt,
    { request, isRepeated }: Prepared,
  ): void {
    if (attempt.isLeft) return;
    if (this.call.gone) this.call.flow?.cut(GONE);
    else if (Array.isArray(credentials)) attempt.send(request, credentials, isRepeated);
    else {
      const { name } = attempt.upstream;
      const fields = { call_id: this.call.id, upstream: name, reason: credentials.code };
      this.log.error(fields, "cannot get credentials for an upstream; trying the next route");
      attempt.fail(credentials);
    }
  }

  /** The latest attempt is over: its key has a call less in flight. */
  end(): void {
    const { way } = this;
    if (way && this.isUnderWay) way.key.release(way.route.model);
    this.isUnderWay = false;
  }

  /** The latest attempt has begun to serve the call, so its key works. Only a whole reply closes the breaker. */
  began(): void {
    const { way } = this;
    if (!way) return;
    this.keyWorks(way);
    way.upstream.breakers.forget(way.route.model);
  }

  /** The upstream has replied as it should, though perhaps with a refusal of the request. */
  succeeded(): void {
    const { way } = this;
    if (!way) return;
    this.keyWorks(way);
    way.upstream.breakers.succeed(way.route.model, this.sentMs);
  }

  /** The latest attempt ends without a result, as when the client leaves. */
  forget(): void {
    this.way?.upstream.breakers.forget(this.way.route.model);
  }

  /** Counts a failure of the latest attempt against its upstream, unless that had no part in it. */
  failed(failure: FailureCause, isLost = false): void {
    const { way } = this;
    if (!way) return;
    const { upstream, route } = way;
    this.keyFailed = false;
    if (isOwnFailure(failure)) {
      upstream.breakers.forget(route.model);
      const fields = { call_id: this.call.id, upstream: upstream.name, reason: failure.reason };
      this.log.error(fields, "cannot send a call to an upstream; trying the next route");
    } else {
      upstream.breakers.fail(route.model, failure, this.sentMs);
      const times = { sentMs: this.sentMs, nowMs: this.clock.monotonic() };
      way.key.fail("upstream", failure.reason, route.model, times);
    }
    this.record(failure, isLost);
  }

  /** Rests what a refusal concerns: nothing, the key, the key for this model, or the upstream. */
  refused(refused: Refused): void {
    const { way } = this;
    const failure = failures.refused(refused);
    // A provider may bill what it has cancelled under load.
    if (refused.isCounted) return this.failed(failure, refused.status === 499);
    if (!way) return;
    this.keyFailed = OF_THE_KEY.has(refused.fault);
    // No key changes what a provider knows. A text about an account has `says`.
    const isOfProvider = refused.fault === "caller" && refused.says === undefined;
    if (isOfProvider) this.excluded = [...this.excluded, way.route];
    if (refused.fault === "limit" && this.hasOwnLimit) {
      way.upstream.breakers.note(way.route.model, failure);
    } else way.upstream.refused(way.route, way.key, refused, this.sentMs, this.call.id);
    this.record(failure);
  }

  private keyWorks({ upstream, route, key }: Way): void {
    if (!key.succeed(route.model, this.sentMs)) return;
    const fields = { upstream: upstream.name, model: route.model, key: key.last4 };
    this.log.info(fields, "an upstream's key works again");
  }

  /** Keeps why the latest attempt failed, for the call's log line and the metrics. */
  record({ cause, reason }: FailureCause, lost = false): void {
    const { way, call } = this;
    if (!way) return;
    if (lost) this.lost += 1;
    const tried = { upstream: way.upstream.name, model: way.route.model, key: way.key.last4 };
    call.failedAttempts = [...call.failedAttempts, { ...tried, cause, reason, lost }];
  }

  /** The upstream has closed an idle connection just as it was reused: that says nothing of its health. */
  foundStale(failure: FailureCause): void {
    this.forget();
    this.record(failure);
  }

  /** Prepares the latest attempt again, on a new connection, once per call. */
  prepareRepeat(): boolean {
    if (this.repeated) return false;
    this.repeated = true;
    return this.prepareAgain(true);
  }

  /** True if the upstream of the latest attempt may get retries. */
  get mayRetry(): boolean {
    return this.way?.upstream.breakers.allowRetries === true;
  }

  /** Prepares the latest attempt again, for a call whose request has changed. */
  prepareAgain(isRepeated = false): boolean {
    const { way, call } = this;
    const request = call.upstream;
    if (!way || !request || call.gone) return false;
    this.prepared = this.requestFor(way, request, isRepeated);
    return this.prepared !== undefined;
  }

  private prepareNext(canWait: boolean): Prepared | undefined {
    const request = this.call.upstream;
    if (!request) return undefined;
    for (;;) {
      const way = this.nextWay(request, canWait);
      if (!way) return undefined;
      const prepared = this.requestFor(way, request);
      if (prepared) {
        this.tried.push(way);
        return prepared;
      }
      this.excluded = [...this.excluded, way.route];
    }
  }

  private nextWay({ protocol }: UpstreamRequest, canWait: boolean): Way | undefined {
    const { model, attempts, gone } = this.call;
    if (!model || attempts >= ATTEMPTS_MAX || this.lost >= LOST_MAX || gone) return undefined;
    const { conversation, excluded, tried, keyFailed } = this;
    const wanted = { model, protocol, conversation, excluded, tried, keyFailed, canWait };
    return chooseWay(wanted, this.upstreams);
  }

  /** Returns the request for this route; undefined if the call cannot be expressed there. */
  private requestFor(way: Way, request: UpstreamRequest, isRepeated = false): Prepared | undefined {
    const { route, upstream } = way;
    const content = this.contentFor(route, request);
    if (!content) return undefined;
    const { protocol, path } = request;
    const { stream, upstreamHeaders } = this.call;
    const isAdded = upstreamHeaders.length > 0;
    const given = isAdded ? request.headers.concat(upstreamHeaders) : request.headers;
    const headers = headersFor(given, mergeProfiles(upstream.config.profile, route.profile));
    const call = { protocol, path, stream, ...content, headers };
    const made = upstream.adapter.request(call, route);
    return made && { way, request: made, hasOwnLimit: hasOwnLimit(content.body), isRepeated };
  }

  /** Returns the body with the fields that depend on the route and on the hold. */
  private contentFor(route: Route, request: UpstreamRequest): Content | undefined {
    const own = request.bodyFor?.(route);
    if (request.form && !own) {
      const form = new FormBody(request.form);
      form.set("model", route.model);
      return { contentType: form.contentType, body: form };
    }
    const body = (request.bodyFor ? own : request.body)?.copy();
    if (!body) return undefined;
    body.set("model", route.model);
    this.limitOutput(route, body, request);
    if (request.wantsUsage) this.wire.askForUsage(body);
    return { contentType: "application/json", body };
  }

  /**
   * Sets the output limit that the hold covers: one limit, at most the model's, under the name that the route knows. If the
   * client states none, only a hold for less than the model's maximum sets one, a price per call, or `default_max_tokens`:
   * providers count the limit as tokens of the minute (vanna-ai/vanna-flask#11), however short the reply is. That one leaves
   * the prompt its room in the window, since many refuse more (gsd-build/gsd-2#5409).
   */
  private limitOutput(route: Route, body: RequestBody, { outputLimit }: UpstreamRequest): void {
    const { model } = this.call;
    if (!model) return;
    const stated = this.wire.outputLimit(body);
    const upstream = this.upstreams.get(route.upstream)?.config.profile;
    const profile = mergeProfiles(upstream, route.profile);
    const usual = profile.default_max_tokens;
    if ((stated ?? outputLimit ?? usual) === undefined) return;
    const room = stated === undefined ? roomBeside(this.call) : Number.POSITIVE_INFINITY;
    const most = Math.min(outputTokensMax(stated ?? usual, model), room);
    const limit = outputLimit === undefined ? most : Math.min(outputLimit, most);
    this.wire.limitOutput(body, limit, maxTokensField(profile));
  }
}

/** Returns true if the whole reply comes at once: it is not streamed, or an image, which takes minutes to draw. */
export function isSilentUntilWhole({
  stream,
  endpoint,
}: Pick<ServedCall, "stream" | "endpoint">): boolean {
  return !stream || endpoint.protocol === "images";
}

function hasOwnLimit(body: OutgoingBody): boolean {
  return body.read("service_tier") === "flex" || body.read("speed") === "fast";
}

/** Returns the tokens that the prompt of a call leaves of its model's window. */
function roomBeside({ model, inputTokensLikely: likely = 0 }: ServedCall): number {
  const window = model?.contextWindow ?? Number.POSITIVE_INFINITY;
  return Math.max(Math.floor(window - likely * LIKELY_MARGIN), OUTPUT_ROOM_MIN);
}

/** Returns headers with the betas by the names that a route's provider knows. */
function headersFor(headers: readonly string[], profile: Profile): readonly string[] {
  const { betaHeader = "" } = PROTOCOLS.messages;
  const at = profile.betas ? headers.indexOf(betaHeader) : -1;
  if (at === -1) return headers;
  const given = headers[at + 1]?.split(",") ?? [];
  const betas = [...new Set(given.flatMap((beta) => betaFor(beta, profile) ?? []))].join(",");
  return headers.toSpliced(at, 2, ...(betas === "" ? [] : [betaHeader, betas]));
}

/** A form on its way to an upstream. Its fields are read and set like those of a JSON body. */
export class FormBody implements OutgoingBody {
  private readonly boundary = `tollgate-${randomBytes(16).toString("hex")}`;

  constructor(private parts: readonly FormPart[]) {}

  get contentType(): string {
    return `multipart/form-data; boundary=${this.boundary}`;
  }

  read(name: string): unknown {
    return this.parts.find((part) => part.name === name)?.data.toString();
  }

  set(name: string, value: unknown): void {
    const others = this.parts.filter((part) => part.name !== name);
    const added = value === undefined ? [] : [{ name, data: Buffer.from(String(value)) }];
    this.parts = [...added, ...others];
  }

  bytes(): Buffer {
    const pieces: Buffer[] = [];
    for (const { name, filename, type, data } of this.parts) {
      let head = `--${this.boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"`;
      if (filename !== undefined) head += `; filename="${quoted(filename)}"`;
      if (type !== undefined) head += `\r\ncontent-type: ${type.replace(/[\r\n]/g, "")}`;
      pieces.push(Buffer.from(`${head}\r\n\r\n`), data, Buffer.from("\r\n"));
    }
    pieces.push(Buffer.from(`--${this.boundary}--\r\n`));
    return Buffer.concat(pieces);
  }
}

/** Percent-encodes quotes and line breaks in names, as browsers do, and a backslash, which would hide the quote behind it. */
function quoted(text: string): string {
  return text.replace(/["\r\n\\]/g, encodeURIComponent);
}
