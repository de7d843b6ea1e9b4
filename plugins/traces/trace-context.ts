import { randomBytes } from "node:crypto";

/** The trace of one call, as W3C Trace Context passes it from process to process. */
export interface CallTrace {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The span of the client that made the call; undefined if it sent none. */
  readonly parentId: string | undefined;
  /** The span of the call. */
  readonly spanId: string;
  /** The span of the provider's part, which is the parent of the provider's own. */
  readonly upstreamSpanId: string;
  readonly isSampled: boolean;
  /** The client's `tracestate`, which is passed on unchanged. */
  readonly state: string | undefined;
  /** When the request was sent to the first upstream, on the monotonic clock; undefined before. */
  sentMs: number | undefined;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;
const SAMPLED = 1;
const IDS_BYTES = 32;

/**
 * Returns the trace that a call belongs to: the client's, if it sent a valid `traceparent`, and then the client decides
 * if the call is recorded. Otherwise a new one, of which this share is recorded.
 */
export function traceOf(
  headers: Readonly<Record<string, string>>,
  sampledShare: number,
): CallTrace {
  const ids = randomBytes(IDS_BYTES).toString("hex");
  const parent = parentIn(headers["traceparent"]);
  const state = headers["tracestate"] ?? "";
  return {
    traceId: parent?.traceId ?? ids.slice(0, 32),
    parentId: parent?.parentId,
    spanId: ids.slice(32, 48),
    upstreamSpanId: ids.slice(48),
    isSampled: parent?.isSampled ?? Math.random() < sampledShare,
    state: parent && TRACESTATE.test(state) ? state : undefined,
    sentMs: undefined,
  };
}

/** Returns the headers that pass the trace on to a provider: name, value. */
export function headersOf({ traceId, upstreamSpanId, isSampled, state }: CallTrace): string[] {
  const parent = ["traceparent", `00-${traceId}-${upstreamSpanId}-${isSampled ? "01" : "00"}`];
  return state === undefined ? parent : [...parent, "tracestate", state];
}

function parentIn(header: string | undefined) {
  const [, version, traceId, parentId, flags, rest] = TRACEPARENT.exec(header ?? "") ?? [];
  if (traceId === undefined || parentId === undefined || flags === undefined) return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined;
  // Version ff is forbidden. Later versions may add fields; version 00 has none.
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  return { traceId, parentId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}
