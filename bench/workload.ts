import type { Directive } from "../test/support/provider/directive.ts";
import type { Workload } from "./load/job.ts";

/** Text events per stream of the benchmark. A few more open and close it. */
export const STREAM_DELTAS = 200;

/** Models of the catalogue, one per protocol. */
export const CHAT_MODEL = "gpt-4.1";
export const MESSAGES_MODEL = "claude-haiku-5-5";

const OUTPUT_TOKENS_MAX = 4_000;

const INSTRUCTIONS =
  "You are the assistant of a small bookshop. Answer in the language of the question, name the shelf where " +
  "a book stands, and say so when you do not know. Never promise a delivery date, and never quote a price " +
  "that is not in the list you were given.";

/** A conversation of typical size for a chat window: about 1 KB. */
const TURNS = [
  ["user", "Do you have anything on the history of the Mekong delta, not too academic?"],
  [
    "assistant",
    "We have three that fit: one on the canals, one on the people who came with them, and a travel book from " +
      "the nineties. The first two stand on shelf 14, the third one by the window.",
  ],
  [
    "user",
    "The one on the canals sounds right. Is it illustrated, and is there a paperback of it?",
  ],
] as const;

export function chatCall(
  directive: Directive,
  stream: boolean,
  model: string = CHAT_MODEL,
): Workload {
  const messages = [{ role: "system", content: INSTRUCTIONS }, ...turns(directive)];
  const body = { model, messages, max_tokens: OUTPUT_TOKENS_MAX, stream };
  return {
    path: "/v1/chat/completions",
    body: JSON.stringify(body),
    endsWith: stream ? "[DONE]\n\n" : "}",
  };
}

export function messagesCall(
  directive: Directive,
  stream: boolean,
  model: string = MESSAGES_MODEL,
): Workload {
  const messages = turns(directive);
  const body = { model, system: INSTRUCTIONS, messages, max_tokens: OUTPUT_TOKENS_MAX, stream };
  return {
    path: "/v1/messages",
    body: JSON.stringify(body),
    endsWith: stream ? '"message_stop"}\n\n' : "}",
  };
}

/** Returns the text that makes the simulator follow a directive. */
export function directed(text: string, directive: Directive): string {
  return `${text} [[sim ${JSON.stringify(directive)}]]`;
}

/** The reply to an unstreamed call: a short paragraph. */
export const SHORT_ANSWER: Directive = { output_tokens: 60 };

/** Returns a directive for a stream with one event per packet, as a model produces them. */
export function pacedStream(eventDelayMs: number): Directive {
  const tokens = STREAM_DELTAS;
  return { output_tokens: tokens, deltas: tokens, event_delay_ms: eventDelayMs };
}

function turns(directive: Directive): { role: string; content: string }[] {
  const last = TURNS.length - 1;
  return TURNS.map(([role, content], at) => ({
    role,
    content: at === last ? directed(content, directive) : content,
  }));
}
