import type { Answer } from "./answer.ts";
import type { Directive } from "./directive.ts";
import { givesEvents } from "./odd-replies.ts";
import { type Packet, packets, streamFault } from "./packets.ts";
import type { Protocol } from "./protocol.ts";

/** A larger stream is generated for each call instead of being cached. */
const keptBytesMax = 65_536;

/**
 * The prepared reply to a request. Equal requests share a plan and its bytes: encoding a reply of
 * 16 tokens costs more than sending it.
 */
export class Plan {
  readonly streamed: boolean;
  /**
   * True if the directive has no delays or faults, so that the whole body can be sent immediately.
   */
  readonly plain: boolean;
  /** Names and values alternate. */
  readonly headers: readonly string[];
  #whole: Uint8Array | undefined;
  #sound: Script | undefined;
  #faulty: Script | undefined;

  constructor(
    readonly protocol: Protocol,
    readonly answer: Answer,
  ) {
    this.streamed = answer.ask.stream || protocol.alwaysStreams || givesEvents(answer.directive);
    this.plain = !this.streamed && !specialFields.some((field) => field in answer.directive);
    const type = this.streamed ? protocol.streamType(answer) : "application/json";
    const extra = Object.entries(answer.directive.headers ?? {}).flat();
    this.headers = ["content-type", type, protocol.idHeader, `req_${answer.id}`, ...extra];
  }

  /** Returns the body of an unstreamed call. */
  whole(): Uint8Array {
    this.#whole ??= Buffer.from(this.protocol.whole(this.answer));
    return this.#whole;
  }

  /** Returns the writes of a streamed call and how it ends. `faulty` includes the faults. */
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

/** The writes of a stream and how it ends. */
export interface Script {
  readonly packets: Iterable<Packet>;
  /** "cut" destroys the socket; "failed" ends cleanly, but with an incomplete reply. */
  readonly outcome: "complete" | "failed" | "cut";
}

const specialFields: readonly (keyof Directive)[] = [
  "reply",
  "reply_status",
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
