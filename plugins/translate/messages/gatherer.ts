import { type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { answeredInputOf } from "../arguments.ts";
import { messagesErrorToChat, type Reply } from "../errors.ts";
import type { ClientWay } from "../sides.ts";
import type { ClientStream } from "../stream.ts";

/** Reads the events of a reply of Messages, for a client. */
export interface EventReader {
  take(event: JsonObject): void;
  /** Takes an error as the whole reply. */
  refuse(status: number, body: JsonObject): void;
}

/** Gathers the events to a whole reply, for a client that asked for no stream. */
export class Gatherer implements EventReader {
  private answer: Record<string, unknown> = {};
  private readonly content: Record<string, unknown>[] = [];
  /** Pieces of the block that is open, by the field that they make. */
  private pieces: Record<string, string> = {};

  constructor(
    private readonly client: ClientStream,
    private readonly last: ClientWay | undefined,
  ) {}

  take(event: JsonObject): void {
    switch (event["type"]) {
      case "message_start":
        this.answer = { ...objectOf(event["message"]) };
        return;
      case "content_block_start":
        this.content.push({ ...objectOf(event["content_block"]) });
        this.pieces = {};
        return;
      case "content_block_delta":
        this.delta(objectOf(event["delta"]) ?? {});
        return;
      case "content_block_stop":
        this.close();
        return;
      case "message_delta": {
        const usage = { ...objectOf(this.answer["usage"]), ...objectOf(event["usage"]) };
        Object.assign(this.answer, objectOf(event["delta"]), { usage });
        return;
      }
      case "message_stop": {
        const body = { ...this.answer, content: this.content.filter(hasText) };
        const { status, body: reply } = this.last?.reply(body) ?? { status: 200, body };
        this.client.whole?.(status, reply);
        return;
      }
      case "error":
        this.refuse(502, event);
    }
  }

  refuse(status: number, body: JsonObject): void {
    const reply = this.last ? messagesErrorToChat(status, body) : { status, body };
    this.client.refuse(reply.status, reply.body);
  }

  private delta(delta: JsonObject): void {
    const field = FIELD_OF_DELTA.get(delta["type"]);
    const piece = field && delta[field];
    if (field === undefined || typeof piece !== "string") return;
    this.pieces[field] = (this.pieces[field] ?? "") + piece;
  }

  private close(): void {
    const block = this.content.at(-1);
    if (!block) return;
    for (const [field, text] of Object.entries(this.pieces)) {
      if (field === "partial_json") block["input"] = answeredInputOf(text);
      else block[field] = String(block[field] ?? "") + text;
    }
    this.pieces = {};
  }
}

const FIELD_OF_DELTA = new Map<unknown, string>([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["signature_delta", "signature"],
  ["input_json_delta", "partial_json"],
]);

function hasText({ type, text }: JsonObject): boolean {
  return type !== "text" || text !== "";
}

/** Reads a whole reply as a stream, and gathers it in Messages. */
export function gathered(read: (client: ClientStream) => void): Reply<object> {
  let reply: Reply<object> = { status: 200, body: {} };
  const take = (status: number, body: object) => {
    reply = { status, body };
  };
  const gatherer = new Gatherer({ write() {}, whole: take, refuse: take }, undefined);
  read({
    write() {},
    take: (event) => gatherer.take(event),
    refuse: (status, body) => gatherer.refuse(status, { ...body }),
  });
  return reply;
}
