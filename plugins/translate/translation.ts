import {
  type Call,
  chatProfile,
  type JsonObject,
  type Model,
  mergeProfiles,
  messagesProfile,
  type OverflowSizes,
  objectOf,
  type Profile,
  type Protocol,
  type Route,
  type Services,
} from "../../core/contract/index.ts";
import { chatToMessagesRequest } from "./chat/read/request.ts";
import { chatToMessagesResponse } from "./chat/read/response.ts";
import { ChatToMessagesStream } from "./chat/read/stream.ts";
import { type MessagesContext, messagesToChatRequest } from "./chat/write/request.ts";
import { messagesToChatResponse } from "./chat/write/response.ts";
import { MessagesToChatStream } from "./chat/write/stream.ts";
import { onToChat } from "./chat/write/way-back.ts";
import { edited } from "./edits/index.ts";
import { chatErrorToMessages, messagesErrorToChat, type Reply, withChatError } from "./errors.ts";
import { readableBody } from "./native.ts";
import type { Translated } from "./notes.ts";
import { responsesToMessages } from "./responses/read/reply.ts";
import { responsesToMessagesRequest } from "./responses/read/request.ts";
import { ResponsesToMessagesStream } from "./responses/read/stream.ts";
import { withChatFields } from "./responses/write/from-chat.ts";
import { asksForReasoning, messagesToResponsesRequest } from "./responses/write/request.ts";
import { messagesToResponse } from "./responses/write/response.ts";
import { MessagesToResponsesStream } from "./responses/write/stream.ts";
import { onToResponses } from "./responses/write/way-back.ts";
import { RefusableState } from "./state/refused.ts";
import { type StateSeal, stateOf } from "./state/seal.ts";
import type { ClientStream, StreamTranslator, WayBack } from "./stream.ts";
import { textCharacters } from "./text-characters.ts";

/** Average for English and code, used only for an estimate. */
const CHARACTERS_PER_TOKEN = 4;

type Result = Translated<JsonObject, unknown>;

/** A translated request, the hints that were dropped, and the way back of its reply. */
interface Draft {
  readonly body: JsonObject;
  readonly dropped: readonly string[];
  readonly back: WayBack;
}

/**
 * Translates the request and the reply of one call. Routes of a model may speak different dialects,
 * so each route gets its own translation of the request. The reply is translated for the route that
 * was tried last.
 */
export class Translation {
  readonly to: "messages" | "chat" | "responses";
  private readonly client: Protocol;
  private readonly model: Model;
  private readonly body: JsonObject;
  private readonly services: Services;
  private readonly seal: StateSeal;
  private readonly state = new RefusableState();
  private made: Pick<Draft, "dropped" | "back"> | undefined = undefined;
  /** Cache of the latest result: it is needed more than once per route, and a body may be large. */
  private latest: { readonly route: Route; readonly made: Result } | undefined = undefined;

  constructor(
    call: Call,
    model: Model,
    services: Services,
    seal: StateSeal,
    to: Translation["to"] = model.standard === "messages" ? "messages" : "chat",
  ) {
    this.seal = seal;
    this.client = call.endpoint.protocol;
    this.to = to;
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
    return this.made?.back.reply(body) ?? this.error(502, undefined);
  }

  /** Translates an error reply. `body` is the raw text, JSON or not. */
  error(status: number, body: unknown): Reply<object> {
    if (this.to === "messages") return messagesErrorToChat(status, body);
    // Both name their errors alike.
    const own = this.client === "chat" ? withChatError(status, body) : undefined;
    if (own) return own;
    const reply = chatErrorToMessages(status, body, () => this.sizes());
    return this.client === "messages" ? reply : messagesErrorToChat(reply.status, reply.body);
  }

  /** Estimates the sizes that an overflow names, for providers that do not say them. */
  private sizes(): OverflowSizes | undefined {
    const window = this.model.contextWindow;
    if (window === undefined) return undefined;
    const tokens = Math.ceil(textCharacters(this.body) / CHARACTERS_PER_TOKEN);
    return { tokens: Math.max(tokens, window + 1), window };
  }

  stream(client: ClientStream): StreamTranslator | undefined {
    return this.made?.back.stream(client);
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
    const draft = this.drafted(route, profile);
    if (!draft.ok) return draft;
    return this.fitted(draft.context, profile);
  }

  private drafted(route: Route, profile: Profile): Translated<object, Draft> {
    const { clock } = this.services;
    if (this.client === "messages") {
      return this.to === "responses"
        ? this.toResponses(this.body, route, profile, this.body)
        : this.toChat(this.body, route, profile);
    }
    if (this.to === "responses") return this.chatToResponses(route, profile);
    if (this.client === "responses") return this.fromResponses(route, profile);
    const made = chatToMessagesRequest(this.body, messagesProfile(profile));
    if (!made.ok) return made;
    const { body, dropped, context } = made;
    return drafted(body, dropped, {
      reply: (reply) => messagesToChatResponse(reply, context, clock.now()),
      stream: (client) => new MessagesToChatStream(context, client, clock.now()),
    });
  }

  private toChat(messages: object, route: Route, profile: Profile): Translated<object, Draft> {
    const maker = stateOf(this.seal, profile.maker ?? route.upstream);
    const made = messagesToChatRequest(messages, chatProfile(profile), maker);
    if (!made.ok) return made;
    const { body, dropped } = made;
    const context = this.marking(made.context);
    return drafted(body, dropped, {
      reply: (reply) => chatToMessagesResponse(reply, context),
      stream: (client) => new ChatToMessagesStream(context, client),
    });
  }

  private toResponses(
    messages: object,
    route: Route,
    profile: Profile,
    client: JsonObject,
  ): Translated<object, Draft> {
    const maker = stateOf(this.seal, profile.maker ?? route.upstream);
    const isShown = asksForReasoning(objectOf(client["thinking"]));
    const made = messagesToResponsesRequest(messages, profile, isShown, maker);
    if (!made.ok) return made;
    const context = this.marking(made.context);
    return drafted(made.body, made.dropped, {
      reply: (reply) => responsesToMessages(reply, context),
      stream: (client) => new ResponsesToMessagesStream(context, client),
    });
  }

  /** Translates a Chat request to Messages, and from there on to Responses. */
  private chatToResponses(route: Route, profile: Profile): Translated<object, Draft> {
    const { body: chat } = this;
    const taken = messagesProfile({ ...profile, sampling: "both", thinking: "adaptive" });
    const made = chatToMessagesRequest(chat, taken, false);
    if (!made.ok) return made;
    const second = this.toResponses(made.body, route, profile, chat);
    if (!second.ok) return second;
    const { body, names } = withChatFields(second.context.body, chat);
    const dropped = [...made.dropped, ...second.dropped].filter((name) => !names.has(name));
    return drafted(body, dropped, onToChat(second.context.back, made.context, this.services.clock));
  }

  /** Marks refusals for a client whose protocol has them apart from text. */
  private marking(context: MessagesContext): MessagesContext {
    return this.client === "messages" ? context : { ...context, marksRefusals: true };
  }

  /** Translates a Responses request to Messages, and from there on to Chat if the model speaks it. */
  private fromResponses(route: Route, profile: Profile): Translated<object, Draft> {
    const { clock } = this.services;
    const isLast = this.to === "messages";
    const made = responsesToMessagesRequest(this.body, messagesProfile(profile), isLast);
    if (!made.ok) return made;
    const { body, dropped, context } = made;
    if (isLast) {
      return drafted(body, dropped, {
        reply: (reply) => messagesToResponse(reply, context, clock.now()),
        stream: (client) => new MessagesToResponsesStream(context, client, clock.now()),
      });
    }
    const second = this.toChat(body, route, profile);
    if (!second.ok) return second;
    const back = onToResponses(second.context.back, context, clock);
    return drafted(second.body, [...dropped, ...second.dropped], back);
  }

  /** Edits a translated request to the form that the model of the route accepts. */
  private fitted({ body, dropped, back }: Draft, profile: Profile): Result {
    const made = edited(body, this.to, profile, this.client);
    if (!made.ok) return made;
    const names = [...new Set([...dropped, ...made.dropped])];
    this.made = { dropped: names, back };
    return { ...made, body: { ...made.body }, dropped: names };
  }
}

function drafted(
  body: object,
  dropped: readonly string[],
  back: WayBack,
): Translated<object, Draft> {
  const made = { ...body };
  return { ok: true, body: made, dropped, context: { body: made, dropped, back } };
}
