import { v } from "../../../core/plugin/index.ts";

/**
 * A test uses a directive to request a behaviour of the simulated provider.
 *
 * Places for a directive. For each field, the later place wins:
 *   1. the upstream model's name     sim-echo, sim-hang, sim-status-429, sim-tokens-500
 *   2. the API key of the call       `sim:{"status":503}`, so that one upstream of two can fail
 *   3. the header x-sim              `x-sim: {"delay_ms":100}`, for direct calls
 *   4. the text after the last       `[[sim {"output_tokens":50}]]` in a message, prompt or input;
 *      assistant turn                any gateway forwards it, because it is content
 *
 * Reply
 *   text                 the output text, or the revised prompt of an image (default: a sentence
 *                        that quotes the prompt)
 *   output_tokens        without text: tokens of filler, at most a million are written; with text,
 *                        tools or a refusal: only the number in usage
 *   ignore_max_tokens    do not cut text and thinking to the caller's limit (tool calls are never
 *                        cut); "thinking": cut the text alone, as if there were no thinking
 *   deltas               text deltas in a stream (default: one per 4 characters)
 *   thinking             thinking text: a thinking block, `reasoning_content`, a reasoning item
 *   signature            signature (Messages) or encrypted content (Responses) of the thinking
 *   redacted_thinking    data of a redacted thinking block (Messages)
 *   compaction           encrypted content of a compaction item, which is then all of the reply (Responses)
 *   reasoning_field      place of the thinking in Chat: "reasoning_content" (default), "reasoning",
 *                        "reasoning_details" (a list), or "think" (in the content, as <think>)
 *   thought_signature    extra_content.google.thought_signature of the first call (Chat)
 *   tools                [{ name, arguments: object or raw string, id }], several are parallel; Responses
 *                        also { namespace, custom: true }, a call of a custom tool with a text
 *   argument_deltas      deltas per tool call's arguments (default 3)
 *   interleave           alternate the deltas of parallel tool calls (Chat streams)
 *   text_after           text after the tool calls
 *   refusal              refusal text in the protocol's own form
 *   stop, stop_sequence  stop_reason / finish_reason / incomplete reason, sent unchanged
 *   giant_event_bytes    an extra text delta of this size at the start
 *   total_bytes          text of this size, beyond any limit; streams generate it while the client
 *                        reads
 *   echo                 the output text is the request as JSON: method, path, headers, body;
 *                        "raw": its body as it came
 *   unique_ids           ids differ per call (default: equal requests get equal bytes)
 *   images               number of images returned, regardless of `n`
 *   image_bytes          size of each image (default: a small real PNG)
 *   image_url            return URLs instead of base64
 *   audio_bytes          size of the speech (default 4,180)
 *   audio_type           its content type (default: by `response_format`)
 * Usage (default: 1 token per 4 bytes of text, 256 per input image, 1,000 per generated image)
 *   input_tokens         all input, including cache reads, cache writes and images
 *   cache_read_tokens, cache_write_tokens, reasoning_tokens, image_tokens      parts of the above
 *   usage                "normal"; "missing"; "zero"; "every_chunk" and "with_finish" (Chat
 *                        streams); "late" (Messages streams: 0 input in message_start, the real
 *                        number in message_delta)
 *   reports              [[place, usage]]: objects sent word for word instead. Places: "usage", "choice",
 *                        "x_groq", "usageMetadata", "timings", "meta", "reply" (the reply itself);
 *                        in streams of Chat "first", "finish", "choice", "last" and all after it;
 *                        of Messages "message_start", "message_delta" (an event each)
 *   tool_usage           the field of this name of a Responses reply
 * Time
 *   delay_ms             before the first byte
 *   event_delay_ms       between writes of a stream; 0 writes each event in its own packet
 *   silent_ms            one pause in a stream, after `silent_after_events` events (default 1)
 *   until                name that ends `delay_ms` and `silent_ms` early: POST /_sim/release?name=NAME
 *   hang                 never reply
 * Faults (`*_after_events` counts from the start; negative from the end: -1 is before the last)
 *   status               reply with this 4xx or 5xx
 *   retry_after          its retry-after header, seconds or a date
 *   error                { type, message, code, param } of the error, also inside streams
 *   body, content_type   raw body of the error, such as a proxy's HTML page
 *   error_after_events   an error event, then a clean end; error_event "failed" sends
 *                        response.failed
 *   cut_after_events     destroy the socket mid stream, at 0 inside the response's head; for an
 *                        unstreamed call, after half of the body
 *   end_after_events     end cleanly without the remaining events
 *   reset                destroy the socket before the first byte
 *   fail_times, key      apply faults (and hang) only to the first calls with this key
 *   when_model           apply faults (and hang) only if the upstream model has this name
 * Odd replies
 *   reply                the whole reply: text or JSON; or a list, which are the events of a stream,
 *                        asked for or not
 *   reply_type           its content type
 *   reply_status         the status of any reply that is not refused (default 200)
 * Wire
 *   headers              extra response headers
 *   comments             an SSE comment before every nth event, alternately alone and inside the
 *                        event
 *   pings                the protocol's ping before every nth event
 *   eol                  "\n" (default), "\r\n" or "\r"
 *   split_bytes          split the stream into packets of this size, regardless of events
 *   coalesce             combine events into writes of up to 14 KB
 */

const count = (max: number) => v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(max));
const position = v.pipe(v.number(), v.integer());
const tokens = count(Number.MAX_SAFE_INTEGER);
const ms = count(3_600_000);
const places = [
  ...(["usage", "choice", "x_groq", "first", "finish", "last"] as const),
  ...(["usageMetadata", "timings", "meta", "reply"] as const),
  ...(["message_start", "message_delta"] as const),
] as const;

const directiveSchema = v.strictObject({
  text: v.optional(v.string()),
  output_tokens: v.optional(tokens),
  ignore_max_tokens: v.optional(v.union([v.boolean(), v.literal("thinking")])),
  deltas: v.optional(v.pipe(count(1e6), v.minValue(1))),
  thinking: v.optional(v.string()),
  signature: v.optional(v.string()),
  redacted_thinking: v.optional(v.string()),
  compaction: v.optional(v.string()),
  reasoning_field: v.optional(
    v.picklist(["reasoning_content", "reasoning", "reasoning_details", "think"]),
  ),
  thought_signature: v.optional(v.string()),
  tools: v.optional(
    v.array(
      v.strictObject({
        name: v.string(),
        arguments: v.optional(v.union([v.string(), v.record(v.string(), v.unknown())])),
        id: v.optional(v.string()),
        namespace: v.optional(v.string()),
        custom: v.optional(v.boolean()),
      }),
    ),
  ),
  argument_deltas: v.optional(v.pipe(count(1e5), v.minValue(1))),
  interleave: v.optional(v.boolean()),
  text_after: v.optional(v.string()),
  refusal: v.optional(v.string()),
  stop: v.optional(v.string()),
  stop_sequence: v.optional(v.string()),
  giant_event_bytes: v.optional(count(256 << 20)),
  total_bytes: v.optional(count(16 * 1024 ** 3)),
  echo: v.optional(v.union([v.boolean(), v.literal("raw")])),
  unique_ids: v.optional(v.boolean()),
  images: v.optional(count(100)),
  image_bytes: v.optional(count(64 << 20)),
  image_url: v.optional(v.boolean()),
  audio_bytes: v.optional(count(16 * 1024 ** 3)),
  audio_type: v.optional(v.string()),

  input_tokens: v.optional(tokens),
  cache_read_tokens: v.optional(tokens),
  cache_write_tokens: v.optional(tokens),
  reasoning_tokens: v.optional(tokens),
  image_tokens: v.optional(tokens),
  usage: v.optional(
    v.picklist(["normal", "missing", "zero", "every_chunk", "with_finish", "late"]),
  ),
  reports: v.optional(v.array(v.tuple([v.picklist(places), v.record(v.string(), v.unknown())]))),
  tool_usage: v.optional(v.record(v.string(), v.unknown())),

  delay_ms: v.optional(ms),
  event_delay_ms: v.optional(ms),
  silent_ms: v.optional(ms),
  silent_after_events: v.optional(v.pipe(count(1e9), v.minValue(1))),
  until: v.optional(v.pipe(v.string(), v.maxLength(100))),
  hang: v.optional(v.boolean()),

  status: v.optional(v.pipe(count(599), v.minValue(400))),
  retry_after: v.optional(v.union([v.string(), v.number()])),
  error: v.optional(
    v.strictObject({
      type: v.optional(v.string()),
      message: v.optional(v.string()),
      code: v.optional(v.nullable(v.string())),
      param: v.optional(v.nullable(v.string())),
    }),
  ),
  body: v.optional(v.string()),
  content_type: v.optional(v.string()),
  error_after_events: v.optional(position),
  error_event: v.optional(v.picklist(["error", "failed"])),
  cut_after_events: v.optional(position),
  end_after_events: v.optional(position),
  reset: v.optional(v.boolean()),
  fail_times: v.optional(count(1e6)),
  key: v.optional(v.string()),
  when_model: v.optional(v.string()),

  reply: v.optional(v.union([v.string(), v.array(v.unknown()), v.record(v.string(), v.unknown())])),
  reply_type: v.optional(v.string()),
  reply_status: v.optional(v.pipe(count(299), v.minValue(200))),

  headers: v.optional(v.record(v.string(), v.string())),
  comments: v.optional(v.pipe(count(1e6), v.minValue(1))),
  pings: v.optional(v.pipe(count(1e6), v.minValue(1))),
  eol: v.optional(v.picklist(["\n", "\r\n", "\r"])),
  split_bytes: v.optional(v.pipe(count(1 << 20), v.minValue(1))),
  coalesce: v.optional(v.boolean()),
});

/** A requested behaviour of the simulator. The table above explains each field. */
export type Directive = v.InferOutput<typeof directiveSchema>;

/** Validates a directive. Returns it, or an error message that names the wrong field. */
export function parseDirective(json: unknown): Directive | string {
  const result = v.safeParse(directiveSchema, json);
  if (result.success) return result.output;
  const issue = result.issues[0];
  return `The simulator's directive is invalid at ${v.getDotPath(issue) ?? "its root"}: ${issue.message}`;
}
