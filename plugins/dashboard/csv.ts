import { formatVnd } from "../../core/contract/index.ts";
import type { CallRecord } from "./usage-records.ts";

/** How a file is written: what marks decimals, and so what may stand between fields. */
export type Decimal = "point" | "comma";

/**
 * The columns of the export, in order. The page shows the same list, with what each of them means
 * (`csv.NAME` of its dictionaries).
 *
 *   call_id             the call: `x-request-id` of its reply
 *   time_utc            its start, ISO 8601, UTC
 *   time_vietnam        the same in Vietnam (UTC+7), in a form that spreadsheets take for a time
 *   endpoint            the path that was called
 *   model               the model that answered
 *   mapped_from         the name that was sent, where it was another
 *   key_id, key_name    the key it was called with
 *   status              HTTP status; anything but 200 is free
 *   outcome             complete, gone (its client left), exhausted (its wallet), broken or refused: how it ended
 *   streamed            true or false
 *   input_tokens        all input: cache_read_tokens, cache_write_tokens and images included
 *   output_tokens       all output: reasoning_tokens included
 *   images              images made
 *   cost_vnd            what was charged, in đ, to the millionth
 *   written_off_vnd     what the gateway bore because the wallet did not cover it, in đ
 *   discount_percent    the discount that cost_vnd has been reduced by
 *   latency_ms          from the request to the end of the reply
 *   first_byte_ms       from the request to its first byte; empty where none came
 *   estimated           true where the provider reported no usage and the tokens were counted here
 */
export const csvColumns = [
  "call_id",
  "time_utc",
  "time_vietnam",
  "endpoint",
  "model",
  "mapped_from",
  "key_id",
  "key_name",
  "status",
  "outcome",
  "streamed",
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "images",
  "cost_vnd",
  "written_off_vnd",
  "discount_percent",
  "latency_ms",
  "first_byte_ms",
  "estimated",
] as const;

/** Excel takes a file for UTF-8 only where this stands in front. */
const BYTE_ORDER_MARK = "\ufeff";
/** RFC 4180 ends lines so, and so does Excel. */
const LINE_END = "\r\n";
const VIETNAM_MS = 7 * 3_600_000;

/** What stands in front of the rows. */
export function csvHead(decimal: Decimal): string {
  return BYTE_ORDER_MARK + csvColumns.join(separatorOf(decimal)) + LINE_END;
}

/** One call as one line. */
export function csvRow(record: CallRecord, decimal: Decimal): string {
  const separator = separatorOf(decimal);
  const number = (text: string) => (decimal === "comma" ? text.replace(".", ",") : text);
  const text = (value: string | null) => csvText(value ?? "", separator);
  const fields: Record<(typeof csvColumns)[number], string> = {
    call_id: record.callId,
    time_utc: record.at.toISOString(),
    time_vietnam: vietnamTime(record.at),
    endpoint: text(record.endpoint),
    model: text(record.model),
    mapped_from: text(record.mappedFrom),
    key_id: record.keyId,
    key_name: text(record.keyName),
    status: String(record.status),
    outcome: text(record.outcome),
    streamed: String(record.streamed),
    input_tokens: String(record.inputTokens),
    cache_read_tokens: String(record.cacheReadTokens),
    cache_write_tokens: String(record.cacheWriteTokens),
    output_tokens: String(record.outputTokens),
    reasoning_tokens: String(record.reasoningTokens),
    images: String(record.images),
    cost_vnd: number(formatVnd(record.chargedMicroVnd)),
    written_off_vnd: number(formatVnd(record.writtenOffMicroVnd)),
    discount_percent: number(String(record.discountBps / 100)),
    latency_ms: number(String(record.latencyMs)),
    first_byte_ms: record.firstByteMs === null ? "" : number(String(record.firstByteMs)),
    estimated: String(record.estimated),
  };
  return csvColumns.map((column) => fields[column]).join(separator) + LINE_END;
}

/**
 * Text as a field. A spreadsheet would run what begins with =, +, -, @, a tab or a carriage return as a formula,
 * and names of keys and models come from whoever called: an apostrophe in front makes it text again.
 */
export function csvText(text: string, separator: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  const needsQuotes = inert.includes(separator) || /["\r\n]/.test(inert);
  return needsQuotes ? `"${inert.replaceAll('"', '""')}"` : inert;
}

function separatorOf(decimal: Decimal): string {
  return decimal === "comma" ? ";" : ",";
}

function vietnamTime(at: Date): string {
  return new Date(at.getTime() + VIETNAM_MS).toISOString().slice(0, 19).replace("T", " ");
}
