import type { Protocol } from "../catalogue/endpoint.ts";
import { chat } from "./chat.ts";
import { embeddings, images, speech } from "./media.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";
import type { Wire } from "./wire.ts";

/** Every protocol that the gateway speaks, by name. */
export const wires: Readonly<Record<Protocol, Wire>> = {
  messages,
  chat,
  responses,
  images,
  speech,
  embeddings,
};
