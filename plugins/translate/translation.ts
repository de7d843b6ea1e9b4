import {
  bodyToRead,
  type Call,
  type JsonObject,
  type LeftOut,
  type Model,
  type Protocol,
  type Services,
} from "../../core/plugin/index.ts";
import { readableBody, readerOf } from "./native.ts";
import type { Translated } from "./notes.ts";
import { ReplyTranslation } from "./reply-translation.ts";
import { leaveTextsOut } from "./skeleton.ts";
import { RefusableState } from "./state/refused.ts";
import type { StateSeal } from "./state/seal.ts";
import { routesTo, targetOf } from "./targets.ts";
import { textCharacters } from "./text-characters.ts";
import { translateRequest } from "./translate-request.ts";

type Route = Model["routes"][number];

type Result = Translated<JsonObject, unknown>;

/**
 * Translates the request and the reply of one call. Routes of a model may speak different dialects,
 * so each route gets its own translation of the request.
 */
export class Translation extends ReplyTranslation {
  private readonly call: Call;
  private body: JsonObject;
  private texts: LeftOut | undefined;
  private readonly state = new RefusableState();
  /** Cache of the latest result: it is needed more than once per route, and a body may be large. */
  private latest: { readonly route: Route; readonly made: Result } | undefined = undefined;

  constructor(
    call: Call,
    model: Model,
    services: Services,
    seal: StateSeal,
    to: Protocol = model.standard === "messages" ? "messages" : "chat",
  ) {
    super(call.endpoint.protocol, to, model, services, seal);
    this.call = call;
    this.texts = leaveTextsOut(call.outline, this.client);
    this.body = this.bodyOf(this.texts ? bodyToRead(call) : call.body);
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
    const { client, model } = this;
    return { ...readableBody(given, client, readerOf(model)), model: model.id };
  }

  /**
   * Returns the request for the best route that can express it, otherwise why the best route
   * cannot. Returns undefined if no route speaks the protocol.
   */
  first(): Result | undefined {
    let refused: Result | undefined;
    for (const route of routesTo(this.to, this.model, this.services)) {
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

  protected characters(): number {
    return textCharacters(this.bodyOf(this.call.body));
  }

  private make(route: Route): Result {
    if (this.latest?.route !== route) this.latest = { route, made: this.translate(route) };
    return this.latest.made;
  }

  private translate(route: Route): Result {
    const { client, to, model, services } = this;
    const target = targetOf(route, model, services, client, to);
    const made = translateRequest(this.body, target, this.seal);
    if (made.ok) this.use(made.dropped, made.context);
    return made;
  }
}
