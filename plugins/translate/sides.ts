import type { JsonObject, Profile, Protocol, Services } from "../../core/plugin/index.ts";
import type { MessagesFacts } from "./chat/write/request.ts";
import { messagesErrorToChat, type OverflowSizes, type Reply } from "./errors.ts";
import type { Translated } from "./notes.ts";
import type { MakerState } from "./state/seal.ts";
import type { GatewayStops } from "./stops/request.ts";
import type { ClientStream, StreamTranslator, WayBack } from "./stream.ts";
import type { ChatError, MessagesError } from "./types.ts";

/** Writes a reply in Messages for a client of another protocol. */
export interface ClientWay extends WayBack {
  stream(client: ClientStream): MessagesReader;
}

/** Translates a stream of Messages, from its text or event by event. */
interface MessagesReader extends StreamTranslator {
  take(event: JsonObject): void;
  /** Ends the stream with an error. */
  fail(reply: Reply<ChatError>): void;
}

/** Facts about a client's request for the translation of its reply: plain data that only the side that read it knows. */
type ClientFacts = object;

/** The side of a protocol that its clients see. */
export interface ClientSide {
  /**
   * Reads a request into Messages. `isLast`: a Messages upstream gets it, which has rules of its own
   * for the order of turns.
   */
  read(body: JsonObject, profile: Profile, isLast: boolean): Translated<object, ClientFacts>;
  /** Writes the reply to a request with these facts, which `read` returned. */
  way(facts: ClientFacts, clock: Services["clock"]): ClientWay;
}

/** Facts that a request for an upstream needs beside the conversation. */
interface Writing {
  readonly profile: Profile;
  readonly state: MakerState;
  readonly client: Protocol;
  /** The client's own request, or the one for a summary. */
  readonly body: JsonObject;
}

/** The side of a protocol that its upstreams see. */
export interface UpstreamSide {
  /** Writes a request in Messages for the upstream. Names in `kept` are not dropped after all. */
  write(
    messages: object,
    writing: Writing,
  ): Translated<object, { readonly facts: MessagesFacts; readonly kept?: ReadonlySet<string> }>;
  /** Reads the reply to a request with these facts, which `write` returned. */
  way(facts: MessagesFacts, state: MakerState): WayBack;
  /** Reads an error of the upstream into one of Messages. */
  error(
    status: number,
    body: unknown,
    sizes: () => OverflowSizes | undefined,
  ): Reply<MessagesError>;
}

/** The facts about a request that the translation of its reply needs, for both steps. Plain data. */
export interface BackFacts {
  /** Undefined for a client of Messages. */
  readonly client: ClientFacts | undefined;
  /** Undefined for an upstream that speaks Messages. */
  readonly upstream: MessagesFacts | undefined;
  /** The maker of the model, whose state goes back sealed. */
  readonly maker: string;
  /** Undefined unless the gateway cuts the reply. */
  readonly stops: GatewayStops | undefined;
  /** The account that gets the reply as a sealed summary; undefined for all other replies. */
  readonly summaryFor: string | undefined;
}

/** Goes on from Messages to the client's protocol: the client of `way` is a translation. */
export function onward(way: WayBack, last: ClientWay): WayBack {
  return {
    reply(body) {
      const { status, body: messages } = way.reply(body);
      if (status !== 200) return messagesErrorToChat(status, messages);
      return last.reply(messages);
    },
    stream(client) {
      const reader = last.stream(client);
      return way.stream({
        write() {},
        take: (event) => reader.take(event),
        refuse: (status, body) => reader.fail(messagesErrorToChat(status, body)),
      });
    },
  };
}
