import { type Endpoint, PROTOCOLS } from "../catalogue/endpoint.ts";
import { isRefusal, type Refusal, refuse } from "../wire/refusal.ts";
import { type FormPart, parseFormBody } from "./form.ts";
import type { ReadInput, ReadResult } from "./read-thread.ts";
import { LONG_BODY_BYTES_MIN, RequestBody, readJson } from "./request-body.ts";
import type { BodyMeasure, Caller } from "./thread-work.ts";
import type { BodyThreads } from "./threads.ts";

const THREAD = new URL("./read-thread.js", import.meta.url);
/** A shorter body does not wait until the first thread has started. */
const WAITS_BYTES_MIN = 2_097_152;

/**
 * The way to a thread and back takes some 0.3 ms of the main thread, and a thread needs more processor time for a body
 * than this thread does: only bodies that take more here go there.
 */
const COST_US_MIN = 500;
/** Measured: the time to read and count a KB of text here, and that of each quote and escape in it. */
const US_PER_KB = 1.8;
const US_PER_QUOTE = 0.09;
const US_PER_ESCAPE = 0.035;
const SAMPLES = 16;
const SAMPLE_BYTES = 512;

interface ReadCall extends Caller {
  readonly endpoint: Pick<Endpoint, "protocol" | "multipart" | "conversation">;
  readonly headers: Readonly<Record<string, string>>;
}

interface Read {
  readonly body: RequestBody;
  /** The files of a form. */
  readonly form: FormPart[] | undefined;
}

/** Reads a body: a form, or JSON. Returns a promise for long JSON, which a thread reads. */
export function readCallBody(
  call: ReadCall,
  bytes: Buffer,
  longBodies: LongBodies | undefined,
): Read | Refusal | Promise<Read | Refusal> {
  const { endpoint, headers } = call;
  const type = headers["content-type"] ?? "";
  if (/^multipart\//i.test(type)) {
    if (!endpoint.multipart)
      return refuse.badRequest("This endpoint takes JSON: send content-type application/json.");
    const parsed = parseFormBody(bytes, type);
    return isRefusal(parsed) ? parsed : { form: parsed.form, body: RequestBody.of(parsed.fields) };
  }
  const later = longBodies?.read(call, bytes);
  return later ? later.then(jsonOf) : jsonOf(readJson(bytes, endpoint.conversation));
}

function jsonOf(body: RequestBody | Refusal): Read | Refusal {
  return isRefusal(body) ? body : { form: undefined, body };
}

type LongCall = Caller & { readonly endpoint: Pick<Endpoint, "protocol"> };
type Threads = Pick<BodyThreads, "run" | "isReady" | "warmUp">;

/** Reads long bodies in a thread, so that their checks and their bound take no time of other calls. */
export class LongBodies {
  constructor(
    private readonly threads: Threads,
    private readonly measures: () => readonly BodyMeasure[],
    private readonly costUsMin = COST_US_MIN,
  ) {}

  /** Returns undefined for a body that this thread should read. The bytes must not be used until then. */
  read(call: LongCall, bytes: Buffer): Promise<RequestBody | Refusal> | undefined {
    const { protocol } = call.endpoint;
    const { length } = bytes;
    if (length < LONG_BODY_BYTES_MIN || PROTOCOLS[protocol].conversation === undefined)
      return undefined;
    if (costUs(bytes) < this.costUsMin) return undefined;
    const { threads } = this;
    if (!threads.isReady && length < WAITS_BYTES_MIN) {
      threads.warmUp();
      return undefined;
    }
    return this.readInThread(call, bytes);
  }

  private async readInThread(call: LongCall, bytes: Buffer): Promise<RequestBody | Refusal> {
    const { protocol } = call.endpoint;
    const input: ReadInput = { protocol, measures: this.measures() };
    const result = await this.threads.run<ReadResult>(call, THREAD, input, bytes, true);
    if (isRefusal(result)) return result;
    const { refusal, parts } = result;
    if (refusal) return refusal;
    if (parts) return RequestBody.from(parts);
    const { buffer, byteOffset, byteLength } = result.bytes;
    const own = Buffer.from(buffer, byteOffset, byteLength);
    return readJson(own, PROTOCOLS[protocol].conversation);
  }
}

/** Estimates what it takes to read a body here, by samples of its bytes. */
function costUs(bytes: Buffer): number {
  const stride = (bytes.length - SAMPLE_BYTES) / (SAMPLES - 1);
  let sampledUs = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const from = Math.floor(sample * stride);
    for (let at = from; at < from + SAMPLE_BYTES; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) sampledUs += US_PER_QUOTE;
      else if (byte === BACKSLASH) {
        sampledUs += US_PER_ESCAPE;
        at++;
      }
    }
  }
  const sampledKb = (SAMPLES * SAMPLE_BYTES) / 1_024;
  return (bytes.length / 1_024) * (US_PER_KB + sampledUs / sampledKb);
}

const QUOTE = 34;
const BACKSLASH = 92;
