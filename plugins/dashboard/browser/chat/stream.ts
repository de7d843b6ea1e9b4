import { ApiError, errorOf } from "../api.ts";

export interface ChatImage {
  readonly name: string;
  readonly dataUrl: string;
}

export interface Turn {
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly images: readonly ChatImage[];
}

interface Heard {
  /** The id of the call, known from the head of its reply on. */
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

/** Status of an error that arrives inside a stream, by its type: its head was 200 already. */
const STATUS_BY_TYPE: Readonly<Record<string, number>> = {
  insufficient_balance: 402,
  rate_limit_error: 429,
  service_unavailable: 503,
};

/**
 * Asks a model with the customer's own key and hears its answer as it comes. Resolves at its end; rejects with
 * what was refused, and with an AbortError where it was stopped.
 */
export async function askModel(
  key: string,
  model: string,
  turns: readonly Turn[],
  heard: Heard,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch("/v1/chat/completions", {
    method: "POST",
    credentials: "omit",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, stream: true, messages: turns.map(messageOf) }),
    signal,
  }).catch((error: unknown) => {
    throw isAbort(error) ? error : new ApiError(0, null, "unreachable", null);
  });
  heard.callId(response.headers.get("x-request-id") ?? "");
  if (!response.ok) throw errorOf(response, await response.json().catch(() => ({})));
  for await (const data of events(response)) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error) {
      const { type = "", code = null, message = "" } = chunk.error;
      throw new ApiError(STATUS_BY_TYPE[type] ?? 502, code, message, null);
    }
    const delta = chunk.choices?.[0]?.delta;
    if (delta?.reasoning_content) heard.thinking(delta.reasoning_content);
    if (delta?.content) heard.text(delta.content);
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

function messageOf({ role, text, images }: Turn): object {
  if (images.length === 0) return { role, content: text };
  const parts = images.map(({ dataUrl }) => ({ type: "image_url", image_url: { url: dataUrl } }));
  return { role, content: text === "" ? parts : [{ type: "text", text }, ...parts] };
}

/** The data of each event of a stream. Comments and names of events carry nothing here. */
async function* events(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) yield line.slice(5).trimStart();
    }
  }
}
