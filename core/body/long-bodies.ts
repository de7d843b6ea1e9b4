import { type Endpoint, PROTOCOLS } from "../catalogue/endpoint.ts";
import { isRefusal, type Refusal } from "../wire/refusal.ts";
import { readJson } from "./read-json.ts";
import type { ReadInput, ReadResult } from "./read-thread.ts";
import { RequestBody } from "./request-body.ts";
import type { BodyMeasure, Caller } from "./thread-work.ts";
import type { BodyThreads } from "./threads.ts";

const THREAD = new URL("./read-thread.js", import.meta.url);
/** A shorter body does not wait until the first thread has started. */
const WAITS_BYTES_MIN = 2_097_152;

/** The way to a thread and back takes some 0.3 ms of the main thread, in which it reads and counts this much. */
const READ_HERE_BYTES_MAX = 196_608;

/** A call whose body may be long. */
interface LongCall extends Caller {
  readonly endpoint: Pick<Endpoint, "protocol">;
}

type Threads = Pick<BodyThreads, "run" | "isReady" | "warmUp">;

/** Reads long bodies in a thread, so that their checks and their bound take no time of other calls. */
export class LongBodies {
  private readonly threads: Threads;
  private readonly measures: () => readonly BodyMeasure[];
  private readonly bytesMin: number;

  constructor(
    threads: Threads,
    measures: () => readonly BodyMeasure[],
    bytesMin = READ_HERE_BYTES_MAX,
  ) {
    this.threads = threads;
    this.bytesMin = bytesMin;
    this.measures = measures;
  }

  /** Returns undefined for a body that this thread should read. The bytes must not be used until then. */
  read(call: LongCall, bytes: Buffer): Promise<RequestBody | Refusal> | undefined {
    const { protocol } = call.endpoint;
    const { length } = bytes;
    if (length < this.bytesMin || PROTOCOLS[protocol].conversation === undefined) return undefined;
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
    const { buffer, byteOffset, byteLength } = result.bytes;
    const own = Buffer.from(buffer, byteOffset, byteLength);
    const { refusal, parts } = result;
    if (refusal) return refusal;
    return parts ? RequestBody.from(parts) : readJson(own, PROTOCOLS[protocol].conversation);
  }
}
