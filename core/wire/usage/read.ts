import type { JsonObject } from "../../process/json.ts";
import { readChatUsage } from "./chat.ts";
import { readMessagesUsage } from "./messages.ts";
import { readResponsesUsage } from "./responses.ts";
import type { Usage } from "./usage.ts";

const READERS = {
  chat: readChatUsage,
  messages: readMessagesUsage,
  responses: readResponsesUsage,
} as const;

/** Reads the usage that a whole reply, or one event of a stream, reports in the words of a protocol. */
export function readUsage(protocol: keyof typeof READERS, data: JsonObject, usage: Usage): void {
  READERS[protocol](data, usage);
}
