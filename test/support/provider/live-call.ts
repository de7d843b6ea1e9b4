import type { HttpResponse } from "../../../core/listener/index.ts";
import type { Usage } from "./answer.ts";
import { corkedBytesMax, type Packet } from "./packets.ts";
import type { Plan, Script } from "./plan.ts";
import type { Releases } from "./releases.ts";
import type { Tally } from "./tally.ts";

/** Bytes that chunked encoding adds to a write: its length in hexadecimal and two line ends. */
const chunkFrameBytes = 8;

/** An open call. Tracks whether the client is connected, and owns the call's timer. */
export class LiveCall {
  readonly #res: HttpResponse;
  readonly #tally: Tally;
  readonly #releases: Releases;
  #over = false;
  #stopTimer: (() => void) | undefined;

  constructor(res: HttpResponse, tally: Tally, releases: Releases) {
    this.#res = res;
    this.#tally = tally;
    this.#releases = releases;
    tally.begin();
    res.onAborted(() => {
      this.#close("aborted");
    });
  }

  get over(): boolean {
    return this.#over;
  }

  /** Sends a whole body. `usage` marks a success and is added to the tally. */
  whole(status: string, headers: readonly string[], body: Uint8Array, usage?: Usage): void {
    this.#tally.bytes += body.length;
    this.#res.cork(() => {
      this.#head(status, headers);
      if (body.length <= corkedBytesMax) {
        this.#res.end(body);
        this.#complete(usage);
      } else this.#drain(body, usage);
    });
  }

  /** Announces the length of a whole body, sends half of it and destroys the socket. */
  half(status: string, headers: readonly string[], body: Uint8Array): void {
    const sent = body.subarray(0, body.length >> 1);
    this.#tally.bytes += sent.length;
    this.#res.cork(() => {
      this.#head(status, headers);
      this.#res.tryEnd(sent, body.length);
    });
    this.after(0, () => this.destroy());
  }

  /** Streams a script at the client's speed, with the delays of the directive. */
  stream(plan: Plan, script: Script, status: string): void {
    const { event_delay_ms, split_bytes, silent_ms = 0, until } = plan.answer.directive;
    const res = this.#res;
    const paceMs = event_delay_ms ?? (split_bytes === undefined ? undefined : 0);
    const source = script.packets[Symbol.iterator]();
    let waiting: Packet | undefined;
    let blocked = false;
    const run = () => {
      let pauseMs: number | undefined;
      let isSilent = false;
      for (let written = 0; pauseMs === undefined; ) {
        const packet = waiting ?? nextOf(source);
        waiting = undefined;
        if (packet === undefined) {
          this.#finish(plan, script);
          return;
        }
        const bytes = byteLength(packet);
        written += bytes + chunkFrameBytes;
        if (bytes === 0) {
          pauseMs = silent_ms;
          isSilent = true;
        } else if (written > corkedBytesMax && written > bytes + chunkFrameBytes) {
          waiting = packet;
          pauseMs = 0;
        } else {
          blocked = !this.#write(packet, bytes);
          if (blocked) return;
          pauseMs = paceMs;
        }
      }
      this.after(pauseMs, step, isSilent ? until : undefined);
    };
    const step = () => {
      if (!this.#over) res.cork(run);
    };
    res.onWritable(() => {
      if (blocked) {
        blocked = false;
        if (paceMs === undefined) step();
        else this.after(paceMs, step);
      }
      return true;
    });
    res.cork(() => {
      this.#head(status, plan.headers);
      run();
    });
  }

  /**
   * Runs `then` after `ms`, or when the name in `until` is released; 0 means the next turn of the event loop. Skips it
   * if the call is over.
   */
  after(ms: number, then: () => void, until?: string): void {
    if (this.#over) return;
    if (ms === 0) {
      const immediate = setImmediate(then);
      this.#stopTimer = () => clearImmediate(immediate);
    } else if (until !== undefined) {
      this.#stopTimer = this.#releases.wait(until, ms, then);
    } else {
      const timeout = setTimeout(then, ms);
      this.#stopTimer = () => clearTimeout(timeout);
    }
  }

  /** Destroys the socket, like a provider that crashes. */
  destroy(): void {
    if (this.#over) return;
    this.#close("cut");
    this.#res.close();
  }

  #head(status: string, headers: readonly string[]): void {
    this.#res.writeStatus(status);
    for (let i = 0; i + 1 < headers.length; i += 2) {
      this.#res.writeHeader(headers[i] ?? "", headers[i + 1] ?? "");
    }
  }

  #write(packet: Packet, bytes: number): boolean {
    this.#tally.writes++;
    this.#tally.bytes += bytes;
    return this.#res.write(packet);
  }

  #drain(body: Uint8Array, usage: Usage | undefined): void {
    const send = (offset: number): boolean => {
      const [ok, done] = this.#res.tryEnd(body.subarray(offset), body.length);
      if (done) this.#complete(usage);
      return ok;
    };
    this.#res.onWritable((offset) => {
      let ok = false;
      this.#res.cork(() => {
        ok = send(offset);
      });
      return ok;
    });
    send(0);
  }

  #finish(plan: Plan, script: Script): void {
    if (script.outcome === "cut") {
      // Lets the cork flush first; otherwise its data is lost with the socket.
      this.after(0, () => this.destroy());
    } else {
      this.#res.end();
      this.#complete(script.outcome === "complete" ? plan.answer.usage : undefined);
    }
  }

  #complete(usage: Usage | undefined): void {
    this.#close(usage === undefined ? "failed" : "completed");
    if (usage === undefined) return;
    this.#tally.input_tokens += usage.input;
    this.#tally.output_tokens += usage.output;
  }

  #close(outcome: "completed" | "failed" | "cut" | "aborted"): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopTimer?.();
    this.#tally.open--;
    this.#tally[outcome]++;
  }
}

function nextOf(source: Iterator<Packet>): Packet | undefined {
  const next = source.next();
  return next.done === true ? undefined : next.value;
}

function byteLength(packet: Packet): number {
  return typeof packet === "string" ? Buffer.byteLength(packet) : packet.length;
}
