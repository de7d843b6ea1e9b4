import { encodeComment, encodeEvent } from "../sse/writer.ts";
import type { HttpCall } from "./http-call.ts";

const COMMENT = encodeComment("waiting for the model");
/** Clients of Messages know it, once the message has begun. */
const PING = 'event: ping\ndata: {"type": "ping"}\n\n';

/**
 * Returns what shows a client that its silent stream is alive: an event that its protocol has for that, since agents
 * count the time between events, not between comments. Else a comment, which proxies count.
 */
export function signOfLife(
  { endpoint, headers }: Pick<HttpCall, "endpoint" | "headers">,
  eventsWritten: number,
): string {
  const hasBegun = eventsWritten > 0;
  switch (endpoint.protocol) {
    case "messages":
      return hasBegun ? PING : COMMENT;
    case "responses": {
      // The official clients want `response.created` first. Codex does not, and gives up on a stream without events.
      if (!hasBegun && !CODEX.test(headers["user-agent"] ?? "")) return COMMENT;
      // OpenAI writes it. It has the number of the event before it: that of the next is the provider's to give.
      const sequence_number = Math.max(0, eventsWritten - 1);
      return encodeEvent("keepalive", JSON.stringify({ type: "keepalive", sequence_number }));
    }
    default:
      return COMMENT;
  }
}

const CODEX = /^codex/i;
