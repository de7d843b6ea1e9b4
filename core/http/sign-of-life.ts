import { encodeComment, encodeEvent } from "../sse/writer.ts";
import type { HttpCall } from "./http-call.ts";

const COMMENT = encodeComment("waiting for the model");
/** Clients of Messages know it, once the message has begun. */
const PING = 'event: ping\ndata: {"type": "ping"}\n\n';

/**
 * Returns what shows a client that its silent stream is alive: an event if it is known to take one, since agents count
 * the time between events, not between comments. Else a comment, which proxies count and no client reads.
 */
export function signOfLife(
  { endpoint, headers }: Pick<HttpCall, "endpoint" | "headers">,
  eventsWritten: number,
): string {
  switch (endpoint.protocol) {
    case "messages":
      return eventsWritten > 0 ? PING : COMMENT;
    case "responses": {
      // Codex gives up on a stream without events. Others give up on an event that they do not know: Grok Build, goose, and
      // helpers of the official clients.
      if (!CODEX.test(headers["user-agent"] ?? "")) return COMMENT;
      // OpenAI writes it. It has the number of the event before it: that of the next is the provider's to give.
      const sequence_number = Math.max(0, eventsWritten - 1);
      return encodeEvent("keepalive", JSON.stringify({ type: "keepalive", sequence_number }));
    }
    default:
      return COMMENT;
  }
}

const CODEX = /^codex/i;
