import { bodyOf } from "../support/ask.ts";
import { RawClient, rawPost } from "../support/raw-client.ts";
import { type Attack, MANY_VND } from "./attack.ts";

const MESSAGES = "/v1/messages";
const HUGE_BYTES = 120 * 1_048_576;
const UNREAD_MS = 600_000;
const STREAMS = 100;

const unreadReplies: Attack = {
  name: "unread-replies",
  what: `${STREAMS} streams of 120 MB at a time that are never read`,
  async run(target) {
    const { key } = await target.customer(MANY_VND);
    const directive = { total_bytes: HUGE_BYTES, coalesce: true };
    const request = rawPost(MESSAGES, key, bodyOf(MESSAGES, directive, { stream: true }));
    await target.lanes(STREAMS, async () => {
      const client = await RawClient.open(target.gateway.port);
      client.socket.pause();
      try {
        await client.send(request);
        await target.pause(UNREAD_MS);
        target.count("unread");
      } finally {
        client.destroy();
      }
    });
  },
};

const emptyEvents: Attack = {
  name: "empty-events",
  what: "4 streams at a time whose provider sends a comment before each of 100,000 events",
  async run(target) {
    const { key } = await target.customer(MANY_VND);
    const directive = { deltas: 100_000, output_tokens: 100_000, comments: 1, coalesce: true };
    const body = bodyOf(MESSAGES, { ...directive, ignore_max_tokens: true }, { stream: true });
    await target.lanes(4, async () => {
      const response = await fetch(target.gateway.url + MESSAGES, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body,
        signal: target.signal,
      });
      target.count(String(response.status));
      for await (const _ of response.body ?? []);
    });
  },
};

/** Attacks by what is done with a reply, and by what a provider sends. */
export const REPLIES: readonly Attack[] = [unreadReplies, emptyEvents];
