import { arrayOf, type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { brokenForMessages, messagesErrorToChat } from "../errors.ts";
import type { EventReader } from "../messages/gatherer.ts";
import { MESSAGES } from "../messages/passed.ts";
import type { ClientWay } from "../sides.ts";
import type { SummarySeal } from "../state/seal.ts";
import { readerOf } from "../stops/reply.ts";
import type { WayBack } from "../stream.ts";

const NO_SUMMARY = "The model wrote no summary of the conversation. Send the request again.";

/** Returns the way back of a reply whose text becomes one sealed block of compaction. `way`: as in `cutAtStops`. */
export function sealedSummary(
  way: WayBack | undefined,
  last: ClientWay,
  summaries: SummarySeal,
): WayBack {
  const from = way ?? MESSAGES;
  return {
    reply(body) {
      const { status, body: messages } = from.reply(body);
      if (status !== 200) return messagesErrorToChat(status, messages);
      const given = objectOf(messages) ?? {};
      const texts = isRefused(given) ? [] : arrayOf(given["content"]).map(textOf);
      const summary = texts.join("");
      if (summary === "") return messagesErrorToChat(502, brokenForMessages(NO_SUMMARY).body);
      return last.reply({ ...given, ...ENDED, content: [blockOf(summary, summaries)] });
    },
    stream(client) {
      const summary = new Summary(readerOf(last, client), summaries);
      return from.stream({
        write() {},
        take: (event) => summary.take(event),
        refuse: (status, body) => summary.refuse(status, body),
      });
    },
  };
}

/** Gathers the text of a stream of Messages, and passes it on as one block at its end. */
class Summary implements EventReader {
  private texts: string[] = [];
  private isInText = false;

  constructor(
    private readonly reader: EventReader,
    private readonly summaries: SummarySeal,
  ) {}

  take(event: JsonObject): void {
    const { reader, texts } = this;
    switch (event["type"]) {
      case "content_block_start":
        this.isInText = isText(event["content_block"]);
        texts.push(textOf(event["content_block"]));
        return;
      case "content_block_delta": {
        const delta = objectOf(event["delta"]);
        if (this.isInText && delta?.["type"] === "text_delta") texts.push(String(delta["text"]));
        return;
      }
      case "content_block_stop":
        return;
      case "message_delta":
        if (isRefused(objectOf(event["delta"]))) this.texts = [];
        return reader.take({ ...event, delta: ENDED });
      case "message_stop":
        return this.end(event);
      default:
        reader.take(event);
    }
  }

  refuse(status: number, body: JsonObject): void {
    this.reader.refuse(status, body);
  }

  private end(event: JsonObject): void {
    const { reader } = this;
    const summary = this.texts.join("");
    if (summary === "") return reader.refuse(502, { ...brokenForMessages(NO_SUMMARY).body });
    const content_block = blockOf(summary, this.summaries);
    reader.take({ type: "content_block_start", index: 0, content_block });
    reader.take({ type: "content_block_stop", index: 0 });
    reader.take(event);
  }
}

/** A summary that the limit has cut is better than none. */
const ENDED = { stop_reason: "end_turn", stop_sequence: null };

function isRefused(ending: JsonObject | undefined): boolean {
  return ending?.["stop_reason"] === "refusal";
}

/** Returns true for a block of text that is no refusal. */
function isText(block: unknown): boolean {
  const { type, refusal } = objectOf(block) ?? {};
  return type === "text" && refusal !== true;
}

function textOf(block: unknown): string {
  const text = objectOf(block)?.["text"];
  return isText(block) && typeof text === "string" ? text : "";
}

function blockOf(summary: string, summaries: SummarySeal): JsonObject {
  return { type: "compaction", encrypted_content: summaries.pack(summary) };
}
