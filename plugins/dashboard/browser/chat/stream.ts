import { EventSourceParserStream } from "eventsource-parser/stream";
import { ApiError, errorOf } from "../../../page-parts/browser/api-error.ts";

export interface ChatImage {
  readonly name: string;
  readonly dataUrl: string;
}

export interface Turn {
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly images: readonly ChatImage[];
}

interface ReplyListener {
  /** Called with the id of the call once the headers of the reply arrive. */
  callId(id: string): void;
  text(delta: string): void;
  thinking(delta: string): void;
}

interface Chunk {
  readonly error?: {
    readonly code?: string | null;
    readonly type?: string;
    readonly message?: string;
  };
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
    };
  }[];
}

/**
 * The status that an error of this type would have had, for errors inside a stream that began with
 * 200.
 */
const STATUS_BY_TYPE: Readonly<Record<string, number>> = {
  insufficient_balance: 402,
  rate_limit_error: 429,
  service_unavailable: 503,
};

/** Characters: longer than any event of a reply. */
const EVENT_LENGTH_MAX = 16_000_000;

/**
 * Calls a model with the customer's own key and streams the reply to `listener`. Resolves at the
 * end of the reply. Rejects with an `ApiError`, or with an AbortError if `signal` aborts.
 */
export async function askModel(
  key: string,
  model: string,
  turns: readonly Turn[],
  listener: ReplyListener,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch("/v1/chat/completions", {
    method: "POST",
    credentials: "omit",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, stream: true, messages: alternating(turns).map(messageOf) }),
    signal,
  }).catch((error: unknown) => {
    throw isAbort(error) ? error : new ApiError(0, null, "unreachable", null);
  });
  listener.callId(response.headers.get("x-request-id") ?? "");
  if (!response.ok) throw errorOf(response, await response.json().catch(() => ({})));
  const events = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: EVENT_LENGTH_MAX }))
    .getReader();
  for (;;) {
    const { value: event } = (await events?.read()) ?? {};
    if (!event || event.data === "[DONE]") return;
    const chunk = JSON.parse(event.data) as Chunk;
    if (chunk.error) {
      const { type = "", code = null, message = "" } = chunk.error;
      throw new ApiError(STATUS_BY_TYPE[type] ?? 502, code, message, null);
    }
    const delta = chunk.choices?.[0]?.delta;
    if (delta?.reasoning_content) listener.thinking(delta.reasoning_content);
    if (delta?.content) listener.text(delta.content);
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * Joins questions that follow each other, as after a reply that was stopped while the model reasoned: some models refuse two
 * in a row.
 */
function alternating(turns: readonly Turn[]): Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last?.role !== turn.role) joined.push(turn);
    else {
      const text = `${last.text}\n\n${turn.text}`.trim();
      joined.splice(-1, 1, { ...turn, text, images: [...last.images, ...turn.images] });
    }
  }
  return joined;
}

function messageOf({ role, text, images }: Turn): object {
  if (images.length === 0) return { role, content: text };
  const parts = images.map(({ dataUrl }) => ({ type: "image_url", image_url: { url: dataUrl } }));
  return { role, content: text === "" ? parts : [{ type: "text", text }, ...parts] };
}
