import type { Answer } from "./answer.ts";
import type { Directive } from "./directive.ts";
import type { Protocol } from "./protocol.ts";

/**
 * Limit for writes under one cork. uWebSockets.js 20.0.8 buffers 16 KB per cork. A write that does
 * not fit makes it flush. If the socket is full then, the write is lost, and the reader sees a
 * malformed chunk. Small corks are also faster: above 16 KB an event takes four system calls, 8.5
 * µs instead of 0.4 µs.
 */
export const corkedBytesMax = 14_000;

/** One write of a stream. An empty string is the pause `silent_ms` of the directive. */
export type Packet = string | Uint8Array;

/** How a stream fails, and after how many events. */
interface StreamFault {
  readonly kind: "cut" | "end" | "error";
  readonly after: number;
}

/**
 * Returns the earliest stream fault of a directive. A negative count needs one pass over the
 * events.
 */
export function streamFault(protocol: Protocol, answer: Answer): StreamFault | undefined {
  const { cut_after_events, end_after_events, error_after_events } = answer.directive;
  const asked = [
    { kind: "cut", after: cut_after_events },
    { kind: "end", after: end_after_events },
    { kind: "error", after: error_after_events },
  ] as const;
  let total: number | undefined;
  let first: StreamFault | undefined;
  for (const { kind, after } of asked) {
    if (after === undefined) continue;
    if (after < 0) total ??= count(protocol.events(answer));
    const from = after < 0 ? Math.max(0, (total ?? 0) + after) : after;
    if (first === undefined || from < first.after) first = { kind, after: from };
  }
  return first;
}

/** Yields the stream as it is sent: events with faults, comments and pings, split into packets. */
export function* packets(
  protocol: Protocol,
  answer: Answer,
  fault: StreamFault | undefined,
): Generator<Packet> {
  const { directive } = answer;
  let stream: Iterable<Packet> = protocol.events(answer);
  if (fault !== undefined) stream = withFault(stream, fault, protocol, answer);
  if (isDecorated(directive)) stream = decorated(stream, directive, protocol.ping);
  if (directive.coalesce === true) yield* recut(stream, corkedBytesMax);
  else if (directive.split_bytes !== undefined) {
    yield* recut(stream, Math.min(directive.split_bytes, corkedBytesMax));
  } else yield* splitLarge(stream);
}

/** Splits packets that are too large for one write. */
function* splitLarge(stream: Iterable<Packet>): Generator<Packet> {
  for (const packet of stream) {
    // A UTF-16 code unit needs at most three bytes of UTF-8.
    if (packet.length * 3 <= corkedBytesMax) yield packet;
    else {
      const bytes = Buffer.from(packet);
      for (let start = 0; start < bytes.length; start += corkedBytesMax) {
        yield bytes.subarray(start, start + corkedBytesMax);
      }
    }
  }
}

function* withFault(
  events: Iterable<Packet>,
  fault: StreamFault,
  protocol: Protocol,
  answer: Answer,
): Generator<Packet> {
  let sent = 0;
  if (fault.after > 0) {
    for (const event of events) {
      yield event;
      if (++sent >= fault.after) break;
    }
  }
  if (fault.kind === "error") yield protocol.errorEvent(answer, sent);
}

function isDecorated({ comments, pings, eol, silent_ms }: Directive): boolean {
  return (
    comments !== undefined ||
    pings !== undefined ||
    silent_ms !== undefined ||
    (eol !== undefined && eol !== "\n")
  );
}

function* decorated(
  events: Iterable<Packet>,
  { comments, pings, eol, silent_ms, silent_after_events = 1 }: Directive,
  ping: string,
): Generator<Packet> {
  let sent = 0;
  for (const event of events) {
    if (silent_ms !== undefined && sent === silent_after_events) yield "";
    if (typeof event !== "string") {
      yield event;
      sent++;
      continue;
    }
    let text = event;
    if (comments !== undefined && sent % comments === 0) {
      const alone = (sent / comments) % 2 === 0;
      text = `: simulated comment ${sent}\n${alone ? "\n" : ""}${text}`;
    }
    if (pings !== undefined && sent % pings === 0) text = ping + text;
    yield eol === undefined || eol === "\n" ? text : text.replaceAll("\n", eol);
    sent++;
  }
}

/** Splits a stream into packets of `size` bytes. A pause first sends the buffered bytes. */
function* recut(stream: Iterable<Packet>, size: number): Generator<Packet> {
  let waiting: Buffer[] = [];
  let length = 0;
  for (const packet of stream) {
    if (packet.length === 0) {
      if (length > 0) yield Buffer.concat(waiting);
      waiting = [];
      length = 0;
      yield packet;
      continue;
    }
    const bytes = Buffer.from(packet);
    waiting.push(bytes);
    length += bytes.length;
    if (length < size) continue;
    const whole = Buffer.concat(waiting);
    let start = 0;
    for (; whole.length - start >= size; start += size) yield whole.subarray(start, start + size);
    waiting = start < whole.length ? [whole.subarray(start)] : [];
    length = whole.length - start;
  }
  if (length > 0) yield Buffer.concat(waiting);
}

function count(items: Iterable<unknown>): number {
  let total = 0;
  for (const _ of items) total++;
  return total;
}
