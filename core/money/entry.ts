import * as v from "valibot";
import type { MicroVnd } from "../contract/amount.ts";
import type { OutboxEntry, Posting } from "../contract/hold-store.ts";
import { parseJson } from "../process/json.ts";

/**
 * A posted call as one line of JSON, under the names of the ledger's columns: what is kept until the call is settled
 * is what settles it, so each call is written out once. The version is that of the names: a later gateway must still
 * read an older journal.
 */
const VERSION = 2;

/** Where the charge begins, which is known last. */
const CHARGE = ',"charged":';

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** What stood where in version 1, which was a list. */
const LISTED = [
  ...["v", "call_id", "account_id", "key_id", "at", "endpoint", "model", "mapped_from", "upstream"],
  ...["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"],
  ...["reasoning_tokens", "images", "cost", "discount_bps", "latency_ms", "first_byte_ms"],
  ...["status", "streamed", "outcome", "estimated", "charged", "written_off"],
];

const record = v.object({
  v: v.picklist([1, VERSION]),
  call_id: v.string(),
  at: v.union([v.pipe(v.string(), v.isoTimestamp(), v.transform(Date.parse)), v.number()]),
  account_id: v.string(),
  key_id: v.string(),
  endpoint: v.string(),
  model: v.string(),
  mapped_from: v.nullable(v.string()),
  upstream: v.nullable(v.string()),
  input_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  images: count,
  cost: count,
  discount_bps: count,
  latency_ms: v.number(),
  first_byte_ms: v.nullable(v.number()),
  status: count,
  streamed: v.boolean(),
  outcome: v.picklist(["complete", "exhausted", "gone", "broken", "refused"]),
  estimated: v.boolean(),
  limits: v.optional(v.array(v.string())),
  charged: count,
  written_off: count,
});

/**
 * One line of JSON; `decodeEntry` reads it back. Put together by hand, since an object a call and its serialisation
 * were a tenth of what the gateway spends on it. Ids are made here or come out of columns of ids: they need no escaping.
 */
export function encodeEntry(
  call: Posting,
  chargedMicroVnd: MicroVnd,
  writtenOffMicroVnd: MicroVnd,
): string {
  return (
    `{"v":${VERSION},"call_id":"${call.callId}","at":${timeOf(call.at)}` +
    `,"account_id":"${call.accountId}","key_id":"${call.keyId}"` +
    `,"endpoint":${JSON.stringify(call.endpoint)},"model":${JSON.stringify(call.model)}` +
    `,"mapped_from":${call.mappedFrom === null ? null : JSON.stringify(storable(call.mappedFrom))}` +
    `,"upstream":${call.upstream === null ? null : JSON.stringify(call.upstream)}` +
    `,"input_tokens":${call.inputTokens},"cache_read_tokens":${call.cacheReadTokens}` +
    `,"cache_write_tokens":${call.cacheWriteTokens},"output_tokens":${call.outputTokens}` +
    `,"reasoning_tokens":${call.reasoningTokens},"images":${call.images}` +
    `,"cost":${call.costMicroVnd},"discount_bps":${call.discountBps}` +
    `,"latency_ms":${call.latencyMs},"first_byte_ms":${call.firstByteMs}` +
    `,"status":${call.status},"streamed":${call.streamed}` +
    `,"outcome":"${call.outcome}","estimated":${call.estimated}` +
    (call.limits === undefined || call.limits.length === 0
      ? ""
      : `,"limits":${JSON.stringify(call.limits)}`) +
    chargeText(chargedMicroVnd, writtenOffMicroVnd)
  );
}

/** An entry of a call; `encoded` is its line, with whatever charge, where there is one already. */
export function entryOf(
  entryId: string,
  posting: Posting,
  chargedMicroVnd: MicroVnd,
  writtenOffMicroVnd: MicroVnd,
  encoded?: string,
): OutboxEntry {
  const text =
    encoded === undefined
      ? encodeEntry(posting, chargedMicroVnd, writtenOffMicroVnd)
      : encoded.slice(0, encoded.lastIndexOf(CHARGE)) +
        chargeText(chargedMicroVnd, writtenOffMicroVnd);
  return { entryId, posting, chargedMicroVnd, writtenOffMicroVnd, text };
}

/** The entry again, under the position that the store gives it; throws where it cannot be read. */
export function decodeEntry(entryId: string, text: string): OutboxEntry {
  const written = parseJson(text);
  const parsed = v.safeParse(record, Array.isArray(written) ? named(written) : written);
  if (!parsed.success) {
    throw new Error(
      `entry ${entryId} of the outbox is not one that this version can read (${VERSION}): ` +
        "run the version of the gateway that wrote it until the outbox is empty",
    );
  }
  const row = parsed.output;
  const posting: Posting = {
    callId: row.call_id,
    accountId: row.account_id,
    keyId: row.key_id,
    at: row.at,
    endpoint: row.endpoint,
    model: row.model,
    mappedFrom: row.mapped_from,
    upstream: row.upstream,
    inputTokens: row.input_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    images: row.images,
    costMicroVnd: row.cost,
    discountBps: row.discount_bps,
    latencyMs: row.latency_ms,
    firstByteMs: row.first_byte_ms,
    status: row.status,
    streamed: row.streamed,
    outcome: row.outcome,
    estimated: row.estimated,
    ...(row.limits && { limits: row.limits }),
  };
  const { charged: chargedMicroVnd, written_off: writtenOffMicroVnd } = row;
  if (row.v !== VERSION) return entryOf(entryId, posting, chargedMicroVnd, writtenOffMicroVnd);
  return { entryId, posting, chargedMicroVnd, writtenOffMicroVnd, text };
}

function named(list: readonly unknown[]): unknown {
  return Object.fromEntries(LISTED.map((name, at) => [name, list[at]]));
}

function chargeText(chargedMicroVnd: MicroVnd, writtenOffMicroVnd: MicroVnd): string {
  return `${CHARGE}${chargedMicroVnd},"written_off":${writtenOffMicroVnd}}`;
}

/** The second that was written last, up to its point: many calls begin in each. */
let second = Number.NaN;
let secondText = "";

/** A time as Postgres reads it; what is no time of these centuries stays a number, for the ledger to refuse. */
function timeOf(at: number): string {
  const since = Math.floor(at / 1_000);
  if (since !== second) {
    if (!(at >= 0 && at < Date.UTC(2200, 0))) return String(at);
    second = since;
    secondText = new Date(since * 1_000).toISOString().slice(0, -"000Z".length);
  }
  return `"${secondText}${String(Math.floor(at - since * 1_000)).padStart(3, "0")}Z"`;
}

/** A name as the caller sent it, without what Postgres cannot store: zero bytes and half surrogate pairs. */
function storable(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8").replaceAll("\0", "");
}
