import type { Directive } from "./provider/directive.ts";
import "./patient-fetch.ts";
import { until } from "./until.ts";

/**
 * Chat models of the shipped catalogue, one for each standard, and the two that serve one protocol
 * only.
 */
export const MESSAGES_MODEL = "claude-opus-5-5";
export const CHAT_MODEL = "gpt-5.6-sol";
export const IMAGE_MODEL = "req/gpt-image-2";
export const SPEECH_MODEL = "req/gpt-4o-mini-tts";

export type CallPath =
  | "/v1/messages"
  | "/v1/chat/completions"
  | "/v1/responses"
  | "/v1/images/generations"
  | "/v1/audio/speech";

/** A prompt that controls the simulated provider. */
export function prompt(directive: Directive, text = "hello"): string {
  return `${text} [[sim ${JSON.stringify(directive)}]]`;
}

/**
 * The body of a call whose upstream behaves as `directive` says; `more` adds or replaces fields.
 */
export function bodyOf(path: CallPath, directive: Directive = {}, more: object = {}): string {
  return JSON.stringify({ ...FIELDS[path](prompt(directive)), ...more });
}

const FIELDS: Record<CallPath, (text: string) => object> = {
  "/v1/messages": (text) => ({
    model: MESSAGES_MODEL,
    max_tokens: 64,
    messages: [{ role: "user", content: text }],
  }),
  "/v1/chat/completions": (text) => ({
    model: CHAT_MODEL,
    max_completion_tokens: 64,
    messages: [{ role: "user", content: text }],
  }),
  "/v1/responses": (text) => ({ model: CHAT_MODEL, max_output_tokens: 64, input: text }),
  "/v1/images/generations": (text) => ({ model: IMAGE_MODEL, prompt: text }),
  "/v1/audio/speech": (text) => ({ model: SPEECH_MODEL, input: text, voice: "alloy" }),
};

/** Posts one call. Abort `signal` to disconnect its client. */
export function ask(
  url: string,
  key: string,
  path: CallPath,
  body: string,
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body,
    ...(signal && { signal }),
  });
}

/**
 * Posts one call again after each 503, as the SDKs do: on a busy machine, a disk that stands still refuses calls for a
 * moment. `log` gets each refusal.
 */
export async function askUntilServed(
  log: (refusal: string) => void,
  ...call: Parameters<typeof ask>
): Promise<Response> {
  let reply = await ask(...call);
  await until("a call is served", async () => {
    if (reply.status !== 503) return true;
    log(await reply.text());
    reply = await ask(...call);
    return false;
  });
  return reply;
}
