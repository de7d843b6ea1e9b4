import {
  type Call,
  chatProfile,
  type JsonObject,
  type Model,
  mergeProfiles,
  messagesProfile,
  type OverflowSizes,
  type Profile,
  type Route,
  type Services,
} from "../../core/contract/index.ts";
import { type ChatContext, chatToMessagesRequest } from "./chat-to-messages/request.ts";
import { chatToMessagesResponse } from "./chat-to-messages/response.ts";
import { ChatToMessagesStream } from "./chat-to-messages/stream.ts";
import { edited } from "./edits/index.ts";
import { chatErrorToMessages, messagesErrorToChat, type Reply } from "./errors.ts";
import { type MessagesContext, messagesToChatRequest } from "./messages-to-chat/request.ts";
import { messagesToChatResponse } from "./messages-to-chat/response.ts";
import { MessagesToChatStream } from "./messages-to-chat/stream.ts";
import { readableBody } from "./native.ts";
import type { Translated } from "./notes.ts";
import { type StateSeal, stateOf } from "./state/seal.ts";
import type { ClientStream, StreamTranslator } from "./stream.ts";
import { textCharacters } from "./text-characters.ts";

/** The direction of a translated request and the context for the translation of its reply. */
type Made = { readonly dropped: readonly string[] } & (
  | { readonly to: "chat"; readonly context: MessagesContext }
  | { readonly to: "messages"; readonly context: ChatContext }
);

/** Of English and code; for an estimate. */
const CHARACTERS_PER_TOKEN = 4;

type Result = Translated<JsonObject, unknown>;

/**
 * Translates the request and the reply of one call. Routes of a model may speak different dialects,
 * so each route gets its own translation of the request. The reply is translated for the route that
 * was tried last.
 */
export class Translation {
  readonly to: "messages" | "chat";
  private readonly model: Model;
  private readonly body: JsonObject;
  private readonly services: Services;
  private readonly seal: StateSeal;
  private made: Made | undefined = undefined;
  /** Cache of the latest result: it is needed more than once per route, and a body may be large. */
  private latest: { readonly route: Route; readonly made: Result } | undefined = undefined;

  constructor(call: Call, model: Model, services: Services, seal: StateSeal) {
    this.seal = seal;
    this.to = call.endpoint.protocol === "messages" ? "chat" : "messages";
    this.model = model;
    // A copy, because the exchange sets the model name in the body, and must not change the
    // client's. A translated reply names the model that serves the call, whatever name was sent.
    this.body = { ...readableBody(call.body, call.endpoint, model), model: model.id };
    this.services = services;
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
    return made.ok ? made.body : undefined;
  }

  /**
   * Client fields that were dropped for the route that was tried last, because they are only hints.
   */
  get dropped(): readonly string[] {
    return this.made?.dropped ?? [];
  }

  reply(body: unknown): Reply<object> {
    const { made } = this;
    if (made?.to === "chat") return chatToMessagesResponse(body, made.context);
    if (made) return messagesToChatResponse(body, made.context, this.services.clock.now());
    return this.error(502, undefined);
  }

  /** Translates an error reply. `body` is the raw text, JSON or not. */
  error(status: number, body: unknown): Reply<object> {
    return this.to === "chat"
      ? chatErrorToMessages(status, body, () => this.sizes())
      : messagesErrorToChat(status, body);
  }

  /** Estimates the sizes that an overflow names, for providers that do not say them. */
  private sizes(): OverflowSizes | undefined {
    const window = this.model.contextWindow;
    if (window === undefined) return undefined;
    const tokens = Math.ceil(textCharacters(this.body) / CHARACTERS_PER_TOKEN);
    return { tokens: Math.max(tokens, window + 1), window };
  }

  stream(client: ClientStream): StreamTranslator | undefined {
    const { made } = this;
    if (made?.to === "chat") return new ChatToMessagesStream(made.context, client);
    return made && new MessagesToChatStream(made.context, client, this.services.clock.now());
  }

  private make(route: Route): Result {
    if (this.latest?.route !== route) this.latest = { route, made: this.translate(route) };
    return this.latest.made;
  }

  private translate(route: Route): Result {
    const upstream = this.services.upstreams.get(route.upstream);
    const most = this.model.maxOutputTokens;
    const known: Profile =
      most === undefined ? {} : { default_max_tokens: most, max_output_tokens: most };
    const profile = { ...known, ...mergeProfiles(upstream?.config.profile, route.profile) };
    if (this.to === "chat") {
      const maker = stateOf(this.seal, profile.maker ?? route.upstream);
      const made = messagesToChatRequest(this.body, chatProfile(profile), maker);
      if (!made.ok) return made;
      const fit = this.fitted(made.body, made.dropped, profile);
      if (fit.ok) this.made = { to: "chat", context: made.context, dropped: fit.dropped };
      return fit;
    }
    const made = chatToMessagesRequest(this.body, messagesProfile(profile));
    if (!made.ok) return made;
    const fit = this.fitted(made.body, made.dropped, profile);
    if (fit.ok) this.made = { to: "messages", context: made.context, dropped: fit.dropped };
    return fit;
  }

  /** Edits a translated request to what the model of the route takes. */
  private fitted(body: object, dropped: readonly string[], profile: Profile): Result {
    const client = this.to === "chat" ? "messages" : "chat";
    const made = edited({ ...body }, this.to, profile, client);
    if (!made.ok) return made;
    const names = [...new Set([...dropped, ...made.dropped])];
    return { ...made, body: { ...made.body }, dropped: names };
  }
}
