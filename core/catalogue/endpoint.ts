import type { Standard } from "./catalogue.ts";

/** The protocols that clients and upstreams speak. Image generation and image edits share one. */
export type Protocol = "messages" | "chat" | "responses" | "images" | "speech" | "embeddings";

/** The facts of a protocol that more than its wire needs. */
interface ProtocolFacts {
  /** The field with the turns of the conversation; undefined if there is none. */
  readonly conversation: "messages" | "input" | undefined;
  /** The client's header that goes upstream: a list of betas. */
  readonly betaHeader: string | undefined;
  /** True if it is the standard of models. Which models speak another one, their upstreams say. */
  readonly isStandard: boolean;
  /** The field of a request, and its value, by which a client asks for a stream of events. */
  readonly streamedBy: readonly [field: string, value: unknown];
  /** True if even a stream brings what it sells in its last event, and is silent before: an image is drawn first. */
  readonly comesAtEnd: boolean;
}

const STREAM = ["stream", true] as const;

const NO_CONVERSATION: ProtocolFacts = {
  conversation: undefined,
  betaHeader: undefined,
  isStandard: true,
  streamedBy: STREAM,
  comesAtEnd: false,
};

export const PROTOCOLS: Readonly<Record<Protocol, ProtocolFacts>> = {
  messages: {
    conversation: "messages",
    betaHeader: "anthropic-beta",
    isStandard: true,
    streamedBy: STREAM,
    comesAtEnd: false,
  },
  chat: {
    conversation: "messages",
    betaHeader: "openai-beta",
    isStandard: true,
    streamedBy: STREAM,
    comesAtEnd: false,
  },
  responses: {
    conversation: "input",
    betaHeader: "openai-beta",
    isStandard: false,
    streamedBy: STREAM,
    comesAtEnd: false,
  },
  images: { ...NO_CONVERSATION, comesAtEnd: true },
  // With `stream`, as some servers take it, audio comes in pieces, which no event can follow.
  speech: { ...NO_CONVERSATION, streamedBy: ["stream_format", "sse"] },
  embeddings: NO_CONVERSATION,
};

/** A path that takes calls: the protocol of its clients, and the models that can serve it. */
export interface Endpoint extends ProtocolFacts {
  readonly path: string;
  readonly protocol: Protocol;
  /**
   * The standards that a model of this endpoint may have. A call still needs a route that speaks this protocol, or a
   * translation.
   */
  readonly serves: readonly Standard[];
  /** Path of the same operation at an upstream, relative to the upstream's base address for the protocol. */
  readonly upstreamPath: string;
  /** True if the body may be multipart/form-data instead of JSON. */
  readonly multipart: boolean;
}

function endpoint(
  path: string,
  protocol: Protocol,
  serves: readonly Standard[],
  upstreamPath: string,
  multipart = false,
): Endpoint {
  return { path, protocol, serves, upstreamPath, multipart, ...PROTOCOLS[protocol] };
}

/** The endpoint of Messages clients. */
export const messagesEndpoint: Endpoint = endpoint(
  "/v1/messages",
  "messages",
  ["messages", "chat"],
  "/v1/messages",
);

/**
 * All billable endpoints. Base addresses of upstreams follow the clients of each protocol: without `/v1` for Messages,
 * with `/v1` for the others.
 */
export const endpoints: readonly Endpoint[] = [
  messagesEndpoint,
  endpoint("/v1/chat/completions", "chat", ["messages", "chat"], "/chat/completions"),
  endpoint("/v1/responses", "responses", ["messages", "chat"], "/responses"),
  endpoint("/v1/images/generations", "images", ["images"], "/images/generations"),
  endpoint("/v1/images/edits", "images", ["images"], "/images/edits", true),
  endpoint("/v1/audio/speech", "speech", ["speech"], "/audio/speech"),
  endpoint("/v1/embeddings", "embeddings", ["embeddings"], "/embeddings"),
];

/** Returns the endpoint of a protocol at another path, for a plugin that turns requests of its clients into that protocol. */
export function endpointAt(path: string, protocol: Protocol): Endpoint {
  const known = endpoints.find((one) => one.protocol === protocol && !one.multipart);
  return { ...(known ?? messagesEndpoint), path };
}

/** The version of the Messages protocol that the gateway speaks and sends to upstreams. */
export const MESSAGES_VERSION = "2023-06-01";

/** The endpoint of routes that serve no model. */
export const SERVES_NOTHING: Endpoint = endpoint("", "chat", [], "");
