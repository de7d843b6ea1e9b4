import type { openListener } from "../../core/plugin/index.ts";

type Handler = Parameters<Awaited<ReturnType<typeof openListener>>["any"]>[1];
export type HttpRequest = Parameters<Handler>[1];
export type HttpResponse = Parameters<Handler>[0];

/**
 * Limit of a write. uWebSockets.js 20.0.8 buffers 16 KB per cork; a write that does not fit makes it
 * flush, and is lost if the socket is full then.
 */
const WRITE_BYTES_MAX = 14_000;

interface SendOptions {
  /** Pause between two parts. Without it, parts share writes. */
  readonly pauseMs?: number | undefined;
  /** Destroys the connection at the end, like a provider that crashes. */
  readonly isCut?: boolean;
}

/** The reply to a call: sends at the speed of the client, and stops when it leaves. */
export class Outlet {
  readonly #res: HttpResponse;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(res: HttpResponse) {
    this.#res = res;
    res.onAborted(() => this.#end());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Runs `then` after `ms`, now if that is 0. Not if the client has left. */
  after(ms: number, then: () => void): void {
    if (this.#isOver) return;
    if (ms === 0) then();
    else this.#timer = setTimeout(then, ms);
  }

  cut(): void {
    if (this.#isOver) return;
    this.#end();
    this.#res.close();
  }

  /** Sends a status line, headers (names and values alternate), and a body in parts. */
  send(
    status: string,
    headers: readonly string[],
    parts: Iterable<string | Uint8Array>,
    { pauseMs, isCut = false }: SendOptions = {},
  ): void {
    const writes = (pauseMs === undefined ? joined(parts) : cutUp(parts))[Symbol.iterator]();
    let isBlocked = false;
    const next = () => {
      if (this.#isOver) return;
      const { value, done } = writes.next();
      if (done) return this.#finish(isCut);
      this.#res.cork(() => {
        isBlocked = !this.#res.write(value);
      });
      if (isBlocked) return;
      if (pauseMs === undefined) setImmediate(next);
      else this.#timer = setTimeout(next, pauseMs);
    };
    this.#res.onWritable(() => {
      if (isBlocked) {
        isBlocked = false;
        next();
      }
      return true;
    });
    this.#res.cork(() => {
      this.#res.writeStatus(status);
      for (let i = 0; i + 1 < headers.length; i += 2) {
        this.#res.writeHeader(headers[i] ?? "", headers[i + 1] ?? "");
      }
    });
    next();
  }

  #finish(isCut: boolean): void {
    // In a later turn: what was written just before is lost with the socket.
    if (isCut) setImmediate(() => this.cut());
    else {
      this.#end();
      this.#res.cork(() => this.#res.end());
    }
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

/** Joins parts to writes of up to 14 KB, and cuts what is larger. */
function* joined(parts: Iterable<string | Uint8Array>): Generator<Uint8Array> {
  let waiting: Buffer[] = [];
  let length = 0;
  for (const part of parts) {
    const bytes = Buffer.from(part);
    if (length + bytes.length > WRITE_BYTES_MAX && length > 0) {
      yield* cutUp([Buffer.concat(waiting)]);
      waiting = [];
      length = 0;
    }
    waiting.push(bytes);
    length += bytes.length;
  }
  if (length > 0) yield* cutUp([Buffer.concat(waiting)]);
}

function* cutUp(parts: Iterable<string | Uint8Array>): Generator<Uint8Array> {
  for (const part of parts) {
    const bytes = Buffer.from(part);
    for (let start = 0; start < bytes.length; start += WRITE_BYTES_MAX) {
      yield bytes.subarray(start, start + WRITE_BYTES_MAX);
    }
  }
}
