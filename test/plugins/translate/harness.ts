import type { Profile } from "../../../core/catalogue/profile.ts";
import { isObject } from "../../../core/process/json.ts";
import { type ServerEvent, SseReader } from "../../../core/sse/reader.ts";
import { chatContext } from "../../../plugins/translate/chat/read/request.ts";
import { ChatToMessagesStream } from "../../../plugins/translate/chat/read/stream.ts";
import { messagesContext } from "../../../plugins/translate/chat/write/request.ts";
import { MessagesToChatStream } from "../../../plugins/translate/chat/write/stream.ts";
import type { RandomText } from "../../../plugins/translate/ids.ts";
import { chatProfile } from "../../../plugins/translate/profile.ts";
import type {
  ClientStream,
  End,
  Mark,
  StreamTranslator,
} from "../../../plugins/translate/stream.ts";
import type { ClientSide } from "./assemble.ts";
import type { ClientEvent } from "./invariants.ts";

/** The client's protocol; the upstream uses the other one. */
export type Client = "messages" | "chat";

export const NOW_MS = 1_700_000_000_000;

export interface WireOptions {
  readonly eol?: string;
  readonly space_after_colon?: boolean;
  readonly split_bytes?: number;
  readonly comments?: boolean;
}

export interface FixtureEvent {
  readonly event?: string;
  readonly data: unknown;
}

/** The bytes that an upstream would send for these events. */
export function serialise(events: readonly FixtureEvent[], wire: WireOptions = {}): Buffer {
  const eol = wire.eol ?? "\n";
  const space = wire.space_after_colon === false ? "" : " ";
  const blocks = events.map(({ event, data }) => {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    const lines = [`data:${space}${text}`];
    if (event !== undefined) lines.unshift(`event:${space}${event}`);
    if (wire.comments) lines.unshift(": keep-alive", "");
    return lines.map((line) => line + eol).join("") + eol;
  });
  return Buffer.from(blocks.join(""));
}

/** Splits bytes into pieces of one size, or returns one piece without a size. */
export function pieces(bytes: Buffer, size?: number): Buffer[] {
  if (size === undefined) return [bytes];
  const cut: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) cut.push(bytes.subarray(at, at + size));
  return cut;
}

/** Pseudo-random text that repeats from run to run, so that generated ids do too. */
export function countingText(): RandomText {
  let count = 0;
  return (length) => {
    count += 1;
    return String(count).padStart(length, "0");
  };
}

/** Records what was sent to a client. */
export class Recorder implements ClientStream {
  readonly written: { text: string; mark: Mark }[] = [];
  httpError: { status: number; body: unknown } | null = null;

  write(text: string, mark: Mark): void {
    this.written.push({ text, mark });
  }

  refuse(status: number, body: unknown): void {
    this.httpError = { status, body };
  }

  get text(): string {
    return this.written.map((piece) => piece.text).join("");
  }

  /** The events as a client parses them, without comments and pings. */
  clientSide(): ClientSide {
    const events: ClientEvent[] = [];
    const add = (event: ServerEvent): void => {
      if (event.data === "" || event.type === "ping") return;
      const data: unknown = event.data === "[DONE]" ? "[DONE]" : JSON.parse(event.data);
      events.push(event.type === undefined ? { data } : { event: event.type, data });
    };
    const reader = new SseReader();
    reader.push(Buffer.from(this.text), add);
    reader.end(add);
    return { events, httpError: this.httpError };
  }
}

export function translator(
  client: Client,
  request: unknown,
  profile: Profile,
  recorder: ClientStream,
): StreamTranslator {
  const random = countingText();
  if (client === "messages") {
    const context = messagesContext(request, chatProfile(profile));
    return new ChatToMessagesStream(context, recorder, random);
  }
  const context = chatContext(request);
  return new MessagesToChatStream(context, recorder, NOW_MS, random);
}

/** Sends an upstream's bytes through the reader and the translation, as the gateway would. */
export function run(
  client: Client,
  request: unknown,
  profile: Profile,
  chunks: readonly Buffer[],
  end: End,
): Recorder {
  const recorder = new Recorder();
  const stream = translator(client, request, profile, recorder);
  const reader = new SseReader();
  const take = (event: ServerEvent): void => stream.event(event);
  for (const chunk of chunks) reader.push(chunk, take);
  if (end === "eof") reader.end(take);
  stream.end(end);
  return recorder;
}

/** True if the client asked for a chunk with the usage. */
export function asksForUsage(request: unknown): boolean {
  const options = isObject(request) ? request["stream_options"] : undefined;
  return isObject(options) && options["include_usage"] === true;
}
