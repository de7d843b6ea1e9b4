import type { Standard } from "./catalogue.ts";
import type { Protocol } from "./protocol.ts";

/** One address that takes calls: the protocol its clients speak, and the models that can serve it. */
export interface Endpoint {
  readonly path: string;
  readonly protocol: Protocol;
  /** Standards of the models that this endpoint serves, if a route speaks its protocol or translation leads to one. */
  readonly serves: readonly Standard[];
  /** Where the same operation stands under an upstream's base address for the protocol. */
  readonly upstreamPath: string;
  /** Whether the body may come as multipart/form-data instead of JSON. */
  readonly multipart: boolean;
}

function endpoint(
  path: string,
  protocol: Protocol,
  serves: readonly Standard[],
  upstreamPath: string,
  multipart = false,
): Endpoint {
  return { path, protocol, serves, upstreamPath, multipart };
}

/** Where Messages clients call. */
export const messagesEndpoint: Endpoint = endpoint(
  "/v1/messages",
  "messages",
  ["messages", "chat"],
  "/v1/messages",
);

/**
 * The billable endpoints. Base addresses follow each protocol's clients: Messages addresses stand without
 * `/v1`, the others with it.
 */
export const endpoints: readonly Endpoint[] = [
  messagesEndpoint,
  endpoint("/v1/chat/completions", "chat", ["messages", "chat"], "/chat/completions"),
  endpoint("/v1/responses", "responses", ["messages", "chat"], "/responses"),
  endpoint("/v1/images/generations", "images", ["images"], "/images/generations"),
  endpoint("/v1/images/edits", "images", ["images"], "/images/edits", true),
  endpoint("/v1/audio/speech", "speech", ["speech"], "/audio/speech"),
];

/** Where an upstream takes chat calls of each protocol, relative to its base address. */
export const upstreamPaths: Readonly<Record<"messages" | "chat", string>> = {
  messages: "/v1/messages",
  chat: "/chat/completions",
};

/** The version of the Messages protocol that the gateway speaks and asks for. */
export const MESSAGES_VERSION = "2023-06-01";

/** What stands in for an endpoint on routes that need a key but serve no model. */
export const KEYED_SERVES_NOTHING: Endpoint = endpoint("", "chat", [], "");
