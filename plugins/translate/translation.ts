import {
  type Call,
  isRefusal,
  type Model,
  type Protocol,
  type Refusal,
  RequestBody,
  type Services,
} from "../../core/plugin/index.ts";
import { messagesErrorToChat, type OverflowSizes, type Reply, withChatError } from "./errors.ts";
import { readableBody, readerOf } from "./native.ts";
import type { Translated } from "./notes.ts";
import { PROTOCOLS } from "./protocols.ts";
import { type BackFacts, onward } from "./sides.ts";
import { RefusableState } from "./state/refused.ts";
import { type StateSeal, stateOf, summariesOf } from "./state/seal.ts";
import { cutAtStops } from "./stops/reply.ts";
import type { ClientStream, StreamTranslator, WayBack } from "./stream.ts";
import { sealedSummary } from "./summary/reply.ts";
import { ShortenedConversation } from "./summary/shorten.ts";
import { routesTo, targetOf } from "./targets.ts";
import type { ThreadInput, ThreadResult } from "./thread.ts";
import { translateRequest } from "./translate-request.ts";

type Route = Model["routes"][number];

const THREAD = new URL("./thread.js", import.meta.url);

/**
 * A request with refused state, or a conversation that is too long for a summary, goes out again only up to this size: this
 * thread parses its items then, and all other calls wait.
 */
const SENT_AGAIN_BYTES_MAX = 4 * 1_048_576;

/** The request for a route, or why it cannot be made. */
type Made = Translated<RequestBody, BackFacts>;

/** The hints that a request lost, and the way back of its reply. */
interface Replies {
  readonly dropped: readonly string[];
  /** Undefined for a client of Messages on Messages, whose requests are not translated. */
  readonly back: WayBack | undefined;
  readonly awaitsReport: boolean;
}

/**
 * Translates the request and the reply of one call. Routes of a model may speak different dialects,
 * so each route gets its own translation of the request.
 */
export class Translation {
  private readonly state = new RefusableState();
  private readonly conversation = new ShortenedConversation();
  private latest: Made | undefined = undefined;
  /** Of the route that was tried last. */
  private replies: Replies | undefined = undefined;

  constructor(
    private readonly call: Call,
    readonly to: Protocol,
    private readonly model: Model,
    private readonly services: Services,
    private readonly seal: StateSeal,
    private readonly make: (route: Route) => Made | undefined,
  ) {}

  private get client(): Protocol {
    return this.call.endpoint.protocol;
  }

  /**
   * Returns the request for the best route that can express it, otherwise why the best route
   * cannot. Returns undefined if no route speaks the protocol.
   */
  first(): Made | undefined {
    let refused: Made | undefined;
    for (const route of routesTo(this.to, this.model, this.services)) {
      const made = this.madeFor(route);
      if (made?.ok) return made;
      refused ??= made;
    }
    return refused;
  }

  bodyFor(route: Route): RequestBody | undefined {
    const made = this.madeFor(route);
    return made?.ok ? this.conversation.fit(this.state.fit(made.body)) : undefined;
  }

  /** As in `UpstreamRequest`: only Responses has state that a provider refuses, and only a summary may leave turns out. */
  sendsAgain(status: number, text: string): boolean {
    const { latest } = this;
    if (!latest?.ok || latest.body.length > SENT_AGAIN_BYTES_MAX) return false;
    if (latest.context.summaryFor !== undefined) {
      return this.conversation.sendsAgain(this.error(status, text), latest.body);
    }
    return this.to === "responses" && this.state.sendsAgain(status, text);
  }

  /** Drops the bytes: a reply may stream for minutes. No other route is tried from now on. */
  release(): void {
    if (this.latest?.ok) this.latest.body.free();
  }

  /** Returns the request for a route, whose reply is translated from now on. */
  private madeFor(route: Route): Made | undefined {
    const made = this.make(route);
    if (made?.ok) this.use(made.dropped, made.context);
    this.latest = made;
    return made;
  }

  /**
   * Client fields that were dropped for the route that was tried last, because they are only hints.
   */
  get dropped(): readonly string[] {
    return this.replies?.dropped ?? [];
  }

  reply(body: unknown): Reply<object> {
    return this.replies?.back?.reply(body) ?? this.error(502, undefined);
  }

  /** Translates an error reply. `body` is the raw text, JSON or not. */
  error(status: number, body: unknown): Reply<object> {
    const upstream = PROTOCOLS[this.to]?.upstream;
    if (!upstream) return messagesErrorToChat(status, body);
    // OpenAI names the errors of both protocols alike.
    const isAlike = this.to === "responses" && this.client !== "messages";
    const own = isAlike ? withChatError(status, body) : undefined;
    if (own) return own;
    const reply = upstream.error(status, body, () => this.sizes());
    return this.client === "messages" ? reply : messagesErrorToChat(reply.status, reply.body);
  }

  /** Estimates the sizes that an overflow names, for providers that do not say them. */
  private sizes(): OverflowSizes | undefined {
    const window = this.model.contextWindow;
    if (window === undefined) return undefined;
    return { tokens: Math.max(this.call.inputTokensLikely ?? 0, window + 1), window };
  }

  /** As `stream`, for a client that gets a whole reply; undefined if the reply needs no change for that. */
  gather(client: ClientStream): StreamTranslator | undefined {
    return this.replies?.back?.gather?.(client);
  }

  /** True if only the provider's report says how much a reply that was cut has used. */
  get awaitsReport(): boolean {
    return this.replies?.awaitsReport === true && this.model.labels.has("reasoning");
  }

  stream(client: ClientStream): StreamTranslator | undefined {
    return this.replies?.back?.stream(client);
  }

  /** Notes the request that goes out: its reply is translated by these facts. */
  private use(dropped: readonly string[], facts: BackFacts): void {
    const awaitsReport = facts.stops?.awaitsReport === true;
    this.replies = { dropped, back: this.wayBack(facts), awaitsReport };
  }

  /** Returns the translation of the reply; undefined for a client of Messages on Messages. */
  private wayBack({ client, upstream, maker, stops, summaryFor }: BackFacts): WayBack | undefined {
    const last = client && PROTOCOLS[this.client]?.client?.way(client, this.services.clock);
    const way = upstream && PROTOCOLS[this.to]?.upstream?.way(upstream, stateOf(this.seal, maker));
    if (stops) return cutAtStops(way, last, stops);
    if (last && summaryFor !== undefined) {
      return sealedSummary(way, last, summariesOf(this.seal, summaryFor));
    }
    return way && last ? onward(way, last) : (way ?? last);
  }
}

/** Translates a request: a long one in a thread, for all routes at once. Returns the refusal of the threads. */
export function translationOf(
  call: Call,
  model: Model,
  services: Services,
  seal: StateSeal,
  to: Protocol,
): Translation | Promise<Translation | Refusal> {
  return call.body.isLong
    ? translatedInThread(call, model, services, seal, to)
    : translatedHere(call, model, services, seal, to);
}

export function translatedHere(
  call: Call,
  model: Model,
  services: Services,
  seal: StateSeal,
  to: Protocol,
): Translation {
  const client = call.endpoint.protocol;
  // A translated reply names the model that serves the call, whatever name was sent.
  const body = { ...readableBody(call.body.json(), client, readerOf(model)), model: model.id };
  /** The latest result: it is needed more than once for each route, and a body may be large. */
  let latest: { readonly route: Route; readonly made: Made } | undefined;
  const make = (route: Route) => {
    if (latest?.route === route) return latest.made;
    const target = targetOf(route, model, services, client, to, accountOf(call));
    const result = translateRequest(body, target, seal);
    const made = result.ok ? { ...result, body: RequestBody.of(result.body) } : result;
    latest = { route, made };
    return made;
  };
  return new Translation(call, to, model, services, seal, make);
}

async function translatedInThread(
  call: Call,
  model: Model,
  services: Services,
  seal: StateSeal,
  to: Protocol,
): Promise<Translation | Refusal> {
  const client = call.endpoint.protocol;
  const forms = new Map<string, Route[]>();
  for (const route of routesTo(to, model, services)) {
    const form = JSON.stringify(targetOf(route, model, services, client, to, accountOf(call)));
    forms.set(form, [...(forms.get(form) ?? []), route]);
  }
  const targets = [...forms.keys()].map((form) => JSON.parse(form));
  const { bodyThreads, bodyMeasures } = services;
  const input: ThreadInput = {
    ...{ reader: readerOf(model), targets, sealKey: seal.key, measures: bodyMeasures.all },
    keepsNumbers: call.body.keepsNumbers,
  };
  const bytes = call.body.bytes();
  const result = await bodyThreads.run<ThreadResult>(call, THREAD, input, bytes, true);
  if (isRefusal(result)) return result;
  const bodies = result.bodies.map((parts) => RequestBody.from(parts));
  const made = new Map<Route, Made>();
  for (const [at, routes] of [...forms.values()].entries()) {
    const one = result.made[at];
    const body = one?.ok ? bodies[one.body] : undefined;
    for (const route of routes) {
      if (one?.ok && body) made.set(route, { ...one, body });
      else if (one && !one.ok) made.set(route, one);
    }
  }
  const make = (route: Route) => made.get(route);
  return new Translation(call, to, model, services, seal, make);
}

function accountOf({ key }: Call): string {
  return key?.accountId ?? "";
}
