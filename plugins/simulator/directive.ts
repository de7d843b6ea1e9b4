import { v } from "../../core/plugin/index.ts";

/**
 * A prompt may ask for a behaviour of the simulated provider: the last `[[sim {"output_tokens":50}]]`
 * that a user or a tool wrote since the model's last reply. Its fields:
 *
 *   text                 the output (default: a sentence that quotes the prompt)
 *   output_tokens        without text: as many tokens of filler; with it: only the number in usage
 *   ignore_max_tokens    do not cut the output to the caller's limit
 *   thinking             thinking before the output
 *   tools                [{ name, arguments }]: calls of tools that the request offers
 *   echo                 the output is the request: method, path, headers and body as JSON
 *   input_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens
 *                        numbers in usage (default: 1 token per 4 bytes, 256 per image)
 *   usage                "missing" leaves it out
 *   delay_ms             before the first byte
 *   event_delay_ms       between the events of a stream
 *   hang                 never reply
 *   status               reply with this 4xx or 5xx
 *   retry_after, error   its retry-after header; its { type, message, code }
 *   error_after_events, cut_after_events, end_after_events
 *                        after so many events of a stream: an error event, a cut connection, an end
 */
const count = (max: number) => v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(max));
const tokens = count(Number.MAX_SAFE_INTEGER);
const ms = count(3_600_000);

const directiveSchema = v.strictObject({
  text: v.optional(v.string()),
  output_tokens: v.optional(tokens),
  ignore_max_tokens: v.optional(v.boolean()),
  thinking: v.optional(v.string()),
  tools: v.optional(
    v.array(
      v.strictObject({
        name: v.string(),
        arguments: v.optional(v.union([v.string(), v.record(v.string(), v.unknown())])),
      }),
    ),
  ),
  echo: v.optional(v.boolean()),
  input_tokens: v.optional(tokens),
  cache_read_tokens: v.optional(tokens),
  cache_write_tokens: v.optional(tokens),
  reasoning_tokens: v.optional(tokens),
  usage: v.optional(v.picklist(["normal", "missing"])),
  delay_ms: v.optional(ms),
  event_delay_ms: v.optional(ms),
  hang: v.optional(v.boolean()),
  status: v.optional(v.pipe(count(599), v.minValue(400))),
  retry_after: v.optional(v.union([v.string(), v.number()])),
  error: v.optional(
    v.strictObject({
      type: v.optional(v.string()),
      message: v.optional(v.string()),
      code: v.optional(v.nullable(v.string())),
    }),
  ),
  error_after_events: v.optional(tokens),
  cut_after_events: v.optional(tokens),
  end_after_events: v.optional(tokens),
});

/** A requested behaviour. The table above explains each field. */
export type Directive = v.InferOutput<typeof directiveSchema>;

const OPENING = "[[sim ";

/**
 * Returns the last directive of a prompt, or a sentence that names its wrong field. A marker that is
 * not JSON is text like any other: agents quote prompts in the calls that they make on their own.
 */
export function findDirective(prompt: string): Directive | string {
  const at = prompt.lastIndexOf(OPENING);
  const json = at < 0 ? undefined : markerAt(prompt, at)?.json;
  const result = v.safeParse(directiveSchema, json ?? {});
  if (result.success) return result.output;
  const issue = result.issues[0];
  return `The simulator's directive is invalid at ${v.getDotPath(issue) ?? "its root"}: ${issue.message}`;
}

/** Removes the markers from a prompt, so that the reply does not quote them. */
export function withoutDirectives(prompt: string): string {
  let rest = prompt;
  for (let at = rest.indexOf(OPENING); at >= 0; at = rest.indexOf(OPENING, at)) {
    const end = markerAt(rest, at)?.end;
    if (end === undefined) at += OPENING.length;
    else rest = rest.slice(0, at) + rest.slice(end);
  }
  return rest.trim();
}

/** A marker ends at the first `]]` with JSON before it: arrays and strings in it may contain `]]` too. */
function markerAt(text: string, at: number): { json: unknown; end: number } | undefined {
  const from = at + OPENING.length;
  for (let end = text.indexOf("]]", from); end >= 0; end = text.indexOf("]]", end + 1)) {
    try {
      return { json: JSON.parse(text.slice(from, end)) as unknown, end: end + 2 };
    } catch {}
  }
  return undefined;
}
