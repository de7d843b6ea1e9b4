import * as v from "valibot";
import { parseJson } from "../json.ts";
import type { OutboxEntry } from "./hot.ts";

/**
 * An outbox entry as JSON: an array, because a post writes one before its last byte may leave, and
 * the field names of an object would double both its size and the time to write it.
 * The first element is the version of this shape: a later gateway must still read an older journal.
 */
const VERSION = 1;

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const record = v.tuple([
  v.literal(VERSION),
  v.string(), // call id
  v.string(), // account id
  v.string(), // key id
  count, // at
  v.string(), // endpoint
  v.string(), // model
  v.nullable(v.string()), // mapped from
  v.nullable(v.string()), // upstream
  count, // input tokens
  count, // cache read tokens
  count, // cache write tokens
  count, // output tokens
  count, // reasoning tokens
  count, // images
  count, // cost
  count, // discount
  v.number(), // latency
  v.nullable(v.number()), // first byte
  count, // status
  v.boolean(), // streamed
  v.picklist(["complete", "exhausted", "gone", "broken", "refused"]),
  v.boolean(), // estimated
  count, // charged
  count, // written off
]);

/** One line of JSON without its position; `decodeEntry` reads it back. */
export function encodeEntry(entry: OutboxEntry): string {
  const call = entry.posting;
  return JSON.stringify([
    VERSION,
    call.callId,
    call.accountId,
    call.keyId,
    call.at,
    call.endpoint,
    call.model,
    call.mappedFrom,
    call.upstream,
    call.inputTokens,
    call.cacheReadTokens,
    call.cacheWriteTokens,
    call.outputTokens,
    call.reasoningTokens,
    call.images,
    call.costMicroVnd,
    call.discountBps,
    call.latencyMs,
    call.firstByteMs,
    call.status,
    call.streamed,
    call.outcome,
    call.estimated,
    entry.chargedMicroVnd,
    entry.writtenOffMicroVnd,
  ]);
}

/** The entry again, under the position that the store gives it; throws where it cannot be read. */
export function decodeEntry(entryId: string, text: string): OutboxEntry {
  const parsed = v.safeParse(record, parseJson(text));
  if (!parsed.success) {
    throw new Error(
      `entry ${entryId} of the outbox is not one that this version can read (${VERSION}): ` +
        "run the version of the gateway that wrote it until the outbox is empty",
    );
  }
  const row = parsed.output;
  return {
    entryId,
    posting: {
      callId: row[1],
      accountId: row[2],
      keyId: row[3],
      at: row[4],
      endpoint: row[5],
      model: row[6],
      mappedFrom: row[7],
      upstream: row[8],
      inputTokens: row[9],
      cacheReadTokens: row[10],
      cacheWriteTokens: row[11],
      outputTokens: row[12],
      reasoningTokens: row[13],
      images: row[14],
      costMicroVnd: row[15],
      discountBps: row[16],
      latencyMs: row[17],
      firstByteMs: row[18],
      status: row[19],
      streamed: row[20],
      outcome: row[21],
      estimated: row[22],
    },
    chargedMicroVnd: row[23],
    writtenOffMicroVnd: row[24],
  };
}
