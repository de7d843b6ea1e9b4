import type { Answer } from "./answer.ts";
import type { Directive } from "./directive.ts";
import { type Packet, packets, streamFault } from "./packets.ts";
import type { Protocol } from "./protocol.ts";

/** Above this size a stream is made anew for each call instead of being kept. */
const keptBytesMax = 65_536;

/**
 * What a call will be answered. It depends on the request alone, so equal requests share one plan and
 * its bytes: encoding an answer of 16 tokens anew would cost more than sending it.
 */
export class Plan {
  readonly protocol: Protocol;
  readonly answer: Answer;
  readonly streamed: boolean;
  /** No directive asks for time, faults or headers: the bytes can go at once. */
  readonly plain: boolean;
  /** Name and value in turn. */
  readonly headers: readonly string[];
  #whole: Uint8Array | undefined;
  #sound: Script | undefined;
  #faulty: Script | undefined;

  constructor(protocol: Protocol, answer: Answer) {
    this.protocol = protocol;
    this.answer = answer;
    this.streamed = answer.ask.stream || protocol.alwaysStreams;
    this.plain = !this.streamed && !specialFields.some((field) => field in answer.directive);
    const type = this.streamed ? protocol.streamType(answer) : "application/json";
    const extra = Object.entries(answer.directive.headers ?? {}).flat();
    this.headers = ["content-type", type, protocol.idHeader, `req_${answer.id}`, ...extra];
  }

  /** The body of a call that is not streamed. */
  whole(): Uint8Array {
    this.#whole ??= Buffer.from(this.protocol.whole(this.answer));
    return this.#whole;
  }

  /** The writes of a streamed call and how it closes; `faulty` says whether the faults strike. */
  script(faulty: boolean): Script {
    if (faulty) {
      this.#faulty ??= this.#makeScript(true);
      return this.#faulty;
    }
    this.#sound ??= this.#makeScript(false);
    return this.#sound;
  }

  #makeScript(faulty: boolean): Script {
    const { protocol, answer } = this;
    const fault = faulty ? streamFault(protocol, answer) : undefined;
    const outcome = fault === undefined ? "complete" : fault.kind === "cut" ? "cut" : "failed";
    const make = { [Symbol.iterator]: () => packets(protocol, answer, fault) };
    return { packets: isSmall(answer) ? [...make].map(encoded) : make, outcome };
  }
}

/** How a stream goes: what is written, then how it ends. */
export interface Script {
  readonly packets: Iterable<Packet>;
  /** "cut" destroys the socket; "failed" ends cleanly, though not with the whole answer. */
  readonly outcome: "complete" | "failed" | "cut";
}

const specialFields: readonly (keyof Directive)[] = [
  "delay_ms",
  "hang",
  "status",
  "reset",
  "cut_after_events",
  "fail_times",
];

function isSmall({ directive, text, thinking, textAfter, refusal, tools }: Answer): boolean {
  if (directive.total_bytes !== undefined || directive.audio_bytes !== undefined) return false;
  if (directive.image_bytes !== undefined) return false;
  const spoken = text.length + thinking.length + textAfter.length + refusal.length;
  return spoken + tools.reduce((sum, tool) => sum + tool.arguments.length, 0) <= keptBytesMax;
}

function encoded(packet: Packet): Packet {
  return typeof packet === "string" && packet !== "" ? Buffer.from(packet) : packet;
}
