import {
  arrayOf,
  encodeEvent,
  isObject,
  type JsonObject,
  objectOf,
} from "../../../core/plugin/index.ts";
import { messagesErrorToChat } from "../errors.ts";
import { eventText } from "../messages/events.ts";
import { type EventReader, Gatherer } from "../messages/gatherer.ts";
import { MESSAGES } from "../messages/passed.ts";
import type { ClientWay } from "../sides.ts";
import type { ClientStream, Mark, StreamTranslator, WayBack } from "../stream.ts";
import { estimatedUsage } from "../usage.ts";
import { StopMatcher } from "./matcher.ts";
import type { GatewayStops } from "./request.ts";

/** Cuts a reply of Messages in events: text beyond a stop sequence, and all blocks after it. */
class EventCutter {
  /** Set while a block of text is open. */
  private matcher: StopMatcher | undefined = undefined;
  private matched: string | undefined = undefined;
  private over = false;

  constructor(
    private readonly stops: readonly string[],
    private readonly pass: (event: JsonObject) => void,
    private readonly client: ClientStream,
  ) {}

  readonly take = (event: JsonObject): void => {
    if (this.over) return;
    const { type } = event;
    if (type === "message_stop") this.over = true;
    if (this.matched !== undefined) this.takeAfterMatch(event);
    else if (type === "content_block_start") this.begin(event);
    else if (type === "content_block_delta") this.delta(event);
    else if (type === "content_block_stop") this.end(event);
    else this.pass(event);
  };

  /** The upstream may go on until it reports the usage, or may be cut. */
  private takeAfterMatch(event: JsonObject): void {
    const { type } = event;
    if (type === "message_delta") this.pass({ ...event, delta: this.stop() });
    else if (type === "message_stop" || type === "ping") this.pass(event);
    else if (type === "error") {
      this.over = true;
      this.pass({
        type: "message_delta",
        delta: this.stop(),
        usage: this.client.used?.() ?? NOTHING,
      });
      this.pass({ type: "message_stop" });
    }
  }

  private stop(): JsonObject {
    return { stop_reason: "stop_sequence", stop_sequence: this.matched };
  }

  private begin(event: JsonObject): void {
    const block = objectOf(event["content_block"]);
    const isText = block?.["type"] === "text" && block["refusal"] !== true;
    this.matcher = isText ? new StopMatcher(this.stops) : undefined;
    if (!isText) return this.pass(event);
    this.pass({ ...event, content_block: { ...block, text: "" } });
    this.text(event["index"], block["text"]);
  }

  private delta(event: JsonObject): void {
    const delta = objectOf(event["delta"]);
    if (!this.matcher || delta?.["type"] !== "text_delta") this.pass(event);
    else this.text(event["index"], delta["text"]);
  }

  private end(event: JsonObject): void {
    this.write(event["index"], this.matcher?.rest() ?? "");
    this.matcher = undefined;
    this.pass(event);
  }

  private text(index: unknown, text: unknown): void {
    const { matcher } = this;
    if (!matcher || typeof text !== "string") return;
    this.write(index, matcher.push(text));
    if (matcher.matched === undefined) return;
    this.matched = matcher.matched;
    this.pass({ type: "content_block_stop", index });
    this.client.stopped?.();
  }

  private write(index: unknown, text: string): void {
    if (text === "") return;
    this.pass({ type: "content_block_delta", index, delta: { type: "text_delta", text } });
  }
}

/** Cuts a whole reply of Messages. */
function cutAnswer(answer: unknown, stops: readonly string[]): unknown {
  const given = objectOf(answer);
  if (!given) return answer;
  const content: unknown[] = [];
  for (const block of arrayOf(given["content"])) {
    const text = objectOf(block)?.["text"];
    if (!isObject(block) || block["type"] !== "text" || typeof text !== "string") {
      content.push(block);
      continue;
    }
    const matcher = new StopMatcher(stops);
    const kept = matcher.push(text);
    if (matcher.matched === undefined) {
      content.push(block);
      continue;
    }
    if (kept !== "") content.push({ ...block, text: kept });
    const stop = { stop_reason: "stop_sequence", stop_sequence: matcher.matched };
    return { ...given, content, ...stop };
  }
  return answer;
}

/**
 * Returns the way back of a reply that the gateway cuts at its stop sequences. `way` leads from the upstream to Messages
 * (undefined: it speaks Messages), `last` from there to the client (undefined: so does the client).
 */
export function cutAtStops(
  way: WayBack | undefined,
  last: ClientWay | undefined,
  { sequences }: GatewayStops,
): WayBack {
  const from = way ?? MESSAGES;
  const begin = (client: ClientStream, reader: EventReader): StreamTranslator => {
    const cutter = new EventCutter(sequences, (event) => reader.take(event), client);
    return from.stream({
      write() {},
      take: cutter.take,
      used: () => client.used?.() ?? NOTHING,
      refuse: (status, body) => reader.refuse(status, body),
    });
  };
  return {
    reply(body) {
      const { status, body: messages } = from.reply(body);
      if (status !== 200) {
        return last ? messagesErrorToChat(status, messages) : { status, body: messages };
      }
      const cut = objectOf(cutAnswer(messages, sequences)) ?? messages;
      return last?.reply(cut) ?? { status, body: cut };
    },
    stream: (client) => begin(client, last ? readerOf(last, client) : new Writer(client)),
    gather: (client) => begin(client, new Gatherer(client, last)),
  };
}

const NOTHING = estimatedUsage(0, 0);

/** Returns a reader of events of Messages that writes for the client. */
export function readerOf(last: ClientWay, client: ClientStream): EventReader {
  const reader = last.stream(client);
  return {
    take: (event) => reader.take(event),
    refuse: (status, body) => reader.fail(messagesErrorToChat(status, body)),
  };
}

/** Writes the events for a client of Messages. */
class Writer implements EventReader {
  constructor(private readonly client: ClientStream) {}

  take(event: JsonObject): void {
    const type = String(event["type"]);
    this.client.write(encodeEvent(type, eventText(event)), MARKS.get(type) ?? "event");
  }

  refuse(status: number, body: JsonObject): void {
    this.client.refuse(status, body);
  }
}

const MARKS: ReadonlyMap<string, Mark> = new Map<string, Mark>([
  ["message_start", "usage"],
  ["message_delta", "usage"],
  ["message_stop", "terminal"],
  ["ping", "comment"],
  ["error", "error"],
]);
