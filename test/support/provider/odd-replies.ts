import { isObject, type JsonObject } from "../../../core/process/json.ts";
import type { Answer } from "./answer.ts";
import type { Directive } from "./directive.ts";
import type { Protocol } from "./protocol.ts";

/**
 * Adds replies that the code of no protocol sends: usage in the places and shapes of other
 * providers, and replies given word for word.
 */
export function withOddReplies(protocol: Protocol): Protocol {
  return {
    ...protocol,
    whole: (answer) => whole(protocol, answer),
    events: (answer) => {
      const { reply, reports } = answer.directive;
      if (Array.isArray(reply)) return reply.map((event) => encoded(event, protocol));
      return reports === undefined ? protocol.events(answer) : reported(protocol, answer, reports);
    },
    streamType: (answer) => answer.directive.reply_type ?? protocol.streamType(answer),
  };
}

/**
 * Returns true if the directive lists the events of a stream, which is then sent even if none was
 * asked for.
 */
export function givesEvents({ reply }: Directive): boolean {
  return Array.isArray(reply);
}

/** Returns the reply that the directive gives word for word, and its content type. */
export function givenReply({
  reply,
  reply_type,
}: Directive): { readonly type: string; readonly body: string } | undefined {
  if (reply === undefined || Array.isArray(reply)) return undefined;
  const type = reply_type ?? "application/json";
  return { type, body: typeof reply === "string" ? reply : JSON.stringify(reply) };
}

/** An event of the directive: text is sent as it is, JSON as the protocol encodes it. */
function encoded(event: unknown, { path }: Protocol): string {
  if (typeof event === "string") return event;
  const type = isObject(event) ? event["type"] : undefined;
  const named = typeof type === "string" && !path.endsWith("/chat/completions");
  return `${named ? `event: ${type}\n` : ""}data: ${JSON.stringify(event)}\n\n`;
}

type Reports = NonNullable<Directive["reports"]>;

function whole(protocol: Protocol, answer: Answer): string {
  const { reports, tool_usage } = answer.directive;
  if (reports === undefined) return protocol.whole(answer);
  const reply = JSON.parse(protocol.whole(silent(answer))) as Record<string, unknown>;
  for (const [place, usage] of reports) {
    if (place === "choice") firstChoice(reply)["usage"] = usage;
    else Object.assign(reply, fieldsOf(place, usage));
  }
  if (tool_usage !== undefined) reply["tool_usage"] = tool_usage;
  return JSON.stringify(reply);
}

function* reported(protocol: Protocol, answer: Answer, reports: Reports): Generator<string> {
  const at = (wanted: string) =>
    reports.filter(([place]) => place === wanted).map(([, usage]) => usage);
  let isFirst = true;
  for (const event of protocol.events(silent(answer))) {
    const text = String(event);
    const data = dataOf(text);
    if (data === undefined) {
      for (const usage of at("last")) yield `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
      yield text;
      continue;
    }
    switch (data["type"]) {
      case "message_start": {
        const [usage] = at("message_start");
        yield withData(text, { ...data, message: { ...objectIn(data, "message"), usage } });
        break;
      }
      case "message_delta":
        for (const usage of at("message_delta")) yield withData(text, { ...data, usage });
        break;
      default:
        yield withData(text, withUsage(data, isFirst, at, answer));
    }
    isFirst = false;
  }
}

/** Adds usage to a chunk of Chat, or to the last event of Responses. */
function withUsage(
  data: JsonObject,
  isFirst: boolean,
  at: (place: string) => JsonObject[],
  { directive: { tool_usage } }: Answer,
): JsonObject {
  const changed: Record<string, unknown> = { ...data };
  const response = data["response"];
  if (
    isObject(response) &&
    Array.isArray(response["output"]) &&
    response["status"] !== "in_progress"
  ) {
    const [usage = null] = at("usage");
    changed["response"] = { ...response, usage, ...(tool_usage && { tool_usage }) };
  }
  if (!Array.isArray(data["choices"])) return changed;
  const choice = firstChoice(data);
  const [first] = at("first");
  if (isFirst && first) changed["usage"] = first;
  if (choice["finish_reason"] == null) return changed;
  const [finish] = at("finish");
  const [inChoice] = at("choice");
  if (finish) changed["usage"] = finish;
  if (inChoice) changed["choices"] = [{ ...choice, usage: inChoice }];
  for (const place of NATIVE)
    for (const usage of at(place)) Object.assign(changed, fieldsOf(place, usage));
  return changed;
}

/** Places in the reply or the last chunk that are not named `usage`. */
const NATIVE = ["x_groq", "usageMetadata", "timings", "meta", "reply"];

function fieldsOf(place: string, usage: JsonObject): JsonObject {
  if (place === "reply") return usage;
  if (place === "x_groq") return { x_groq: { id: "req_1", usage } };
  return { [NATIVE.includes(place) ? place : "usage"]: usage };
}

/** The same reply without the simulator's own usage. */
function silent(answer: Answer): Answer {
  return { ...answer, directive: { ...answer.directive, usage: "missing" } };
}

function firstChoice(reply: JsonObject): Record<string, unknown> {
  const { choices } = reply;
  const [first] = Array.isArray(choices) ? (choices as unknown[]) : [];
  return isObject(first) ? (first as Record<string, unknown>) : {};
}

function objectIn(data: JsonObject, name: string): JsonObject {
  const value = data[name];
  return isObject(value) ? value : {};
}

/** Returns the JSON of an event, undefined if it has none. */
function dataOf(text: string): JsonObject | undefined {
  const at = text.indexOf("data: {");
  return at === -1 ? undefined : (JSON.parse(text.slice(at + "data: ".length)) as JsonObject);
}

function withData(text: string, data: JsonObject): string {
  return `${text.slice(0, text.indexOf("data: "))}data: ${JSON.stringify(data)}\n\n`;
}
