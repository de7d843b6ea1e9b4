import {
  bodyToRead,
  type Call,
  type JsonObject,
  type LeftOut,
  type Model,
  mergeProfiles,
  type OverflowSizes,
  type Profile,
  type Protocol,
  type Route,
  type Services,
} from "../../core/contract/index.ts";
import { messagesErrorToChat, type Reply, withChatError } from "./errors.ts";
import { readableBody } from "./native.ts";
import type { Translated } from "./notes.ts";
import { PROTOCOLS } from "./protocols.ts";
import { type BackFacts, onward } from "./sides.ts";
import { leaveTextsOut } from "./skeleton.ts";
import { RefusableState } from "./state/refused.ts";
import { type StateSeal, stateOf } from "./state/seal.ts";
import type { ClientStream, StreamTranslator, WayBack } from "./stream.ts";
import { textCharacters } from "./text-characters.ts";
import { type Target, translateRequest } from "./translate-request.ts";

/** Average for English and code, used only for an estimate. */
const CHARACTERS_PER_TOKEN = 4;

type Result = Translated<JsonObject, unknown>;

/** The hints that a request lost, and the way back of its reply. */
interface Made {
  readonly dropped: readonly string[];
  /** Undefined for a client of Messages on Messages, whose requests are not translated. */
  readonly back: WayBack | undefined;
}

/**
 * Translates the request and the reply of one call. Routes of a model may speak different dialects,
 * so each route gets its own translation of the request. The reply is translated for the route that
 * was tried last.
 */
export class Translation {
  readonly to: Protocol;
  private readonly client: Protocol;
  private readonly model: Model;
  private readonly call: Call;
  private body: JsonObject;
  private texts: LeftOut | undefined;
  private readonly services: Services;
  private readonly seal: StateSeal;
  private readonly state = new RefusableState();
  private made: Made | undefined = undefined;
  /** Cache of the latest result: it is needed more than once per route, and a body may be large. */
  private latest: { readonly route: Route; readonly made: Result } | undefined = undefined;

  constructor(
    call: Call,
    model: Model,
    services: Services,
    seal: StateSeal,
    to: Protocol = model.standard === "messages" ? "messages" : "chat",
  ) {
    this.seal = seal;
    this.client = call.endpoint.protocol;
    this.to = to;
    this.model = model;
    this.call = call;
    this.texts = leaveTextsOut(call.outline, this.client);
    this.body = this.bodyOf(this.texts ? bodyToRead(call) : call.body);
    this.services = services;
  }

  /** The long texts that the translated bodies lack; undefined if they are whole. */
  get leftOut(): LeftOut | undefined {
    return this.texts;
  }

  /** Translates the whole body from now on. Returns it for the latest route; undefined if it was whole. */
  putTextsBack(): JsonObject | undefined {
    if (!this.texts) return undefined;
    this.texts = undefined;
    this.body = this.bodyOf(this.call.body);
    const route = this.latest?.route;
    this.latest = undefined;
    return route && this.bodyFor(route);
  }

  /**
   * Returns a copy, because the exchange sets the model name in the body, and must not change the client's. A translated
   * reply names the model that serves the call, whatever name was sent.
   */
  private bodyOf(given: JsonObject): JsonObject {
    return { ...readableBody(given, this.call.endpoint, this.model), model: this.model.id };
  }

  /**
   * Returns the request for the best route that can express it, otherwise why the best route
   * cannot. Returns undefined if no route speaks the protocol.
   */
  first(): Result | undefined {
    const routes = this.model.routes.filter((route) =>
      this.services.upstreams.get(route.upstream)?.speaks(this.to),
    );
    let refused: Result | undefined;
    for (const route of routes.sort((a, b) => a.priority - b.priority)) {
      const made = this.make(route);
      if (made.ok) return made;
      refused ??= made;
    }
    return refused;
  }

  bodyFor(route: Route): JsonObject | undefined {
    const made = this.make(route);
    return made.ok ? this.state.fit(made.body) : undefined;
  }

  /** As in `UpstreamRequest`: only Responses has state that a provider refuses in this way. */
  sendsAgain(status: number, text: string): boolean {
    return this.to === "responses" && this.state.sendsAgain(status, text);
  }

  /**
   * Client fields that were dropped for the route that was tried last, because they are only hints.
   */
  get dropped(): readonly string[] {
    return this.made?.dropped ?? [];
  }

  reply(body: unknown): Reply<object> {
    return this.made?.back?.reply(body) ?? this.error(502, undefined);
  }

  /** Translates an error reply. `body` is the raw text, JSON or not. */
  error(status: number, body: unknown): Reply<object> {
    const upstream = PROTOCOLS[this.to]?.upstream;
    if (!upstream) return messagesErrorToChat(status, body);
    // OpenAI names the errors of both protocols alike.
    const isAlike = this.to === "responses" && this.client === "chat";
    const own = isAlike ? withChatError(status, body) : undefined;
    if (own) return own;
    const reply = upstream.error(status, body, () => this.sizes());
    return this.client === "messages" ? reply : messagesErrorToChat(reply.status, reply.body);
  }

  /** Estimates the sizes that an overflow names, for providers that do not say them. */
  private sizes(): OverflowSizes | undefined {
    const window = this.model.contextWindow;
    if (window === undefined) return undefined;
    const tokens = Math.ceil(textCharacters(this.bodyOf(this.call.body)) / CHARACTERS_PER_TOKEN);
    return { tokens: Math.max(tokens, window + 1), window };
  }

  stream(client: ClientStream): StreamTranslator | undefined {
    return this.made?.back?.stream(client);
  }

  private make(route: Route): Result {
    if (this.latest?.route !== route) this.latest = { route, made: this.translate(route) };
    return this.latest.made;
  }

  private translate(route: Route): Result {
    const target = targetOf(this.model, route, this.services, this.client, this.to);
    const made = translateRequest(this.body, target, this.seal);
    if (made.ok) this.made = { dropped: made.dropped, back: this.wayBack(made.context) };
    return made;
  }

  /** Returns the translation of the reply; undefined for a client of Messages on Messages. */
  private wayBack({ client, upstream, maker }: BackFacts): WayBack | undefined {
    const last = client && PROTOCOLS[this.client]?.client?.way(client, this.services.clock);
    const way = upstream && PROTOCOLS[this.to]?.upstream?.way(upstream, stateOf(this.seal, maker));
    return way && last ? onward(way, last) : (way ?? last);
  }
}

function targetOf(
  model: Model,
  route: Route,
  services: Services,
  client: Protocol,
  to: Protocol,
): Target {
  const upstream = services.upstreams.get(route.upstream);
  const most = model.maxOutputTokens;
  const known: Profile =
    most === undefined ? {} : { default_max_tokens: most, max_output_tokens: most };
  const profile = { ...known, ...mergeProfiles(upstream?.config.profile, route.profile) };
  return { client, to, profile, maker: profile.maker ?? route.upstream };
}
