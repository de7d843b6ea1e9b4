import type { ServerEvent } from "../sse/reader.ts";
import { kindOf, type Wire } from "../wire/wire.ts";
import { type Refused, refusedInBody } from "./fault.ts";

/** Streams begin with a few short events. One that goes on without content is passed on beyond this. */
const EVENTS_MAX = 64;
const BYTES_MAX = 65_536;

/**
 * The beginning of a stream, which is held back until content follows: until then, another route can serve the call as if
 * this one had never been asked.
 */
export class Preamble {
  private readonly held: ServerEvent[] = [];
  private bytes = 0;
  private hasBegun = false;
  /** True if nothing but pings has come. */
  isEmpty = true;

  constructor(private readonly wire: Wire) {}

  /**
   * Takes the next event. Returns `more` while content may follow, `useful` if the stream can be passed on with this
   * event, `empty` if it ends before it has begun or without a reply, `error` if it says that it failed.
   */
  take(event: ServerEvent): "more" | "useful" | "empty" | "error" {
    const { wire } = this;
    const kind = kindOf(event, wire);
    if (kind === "error") return "error";
    const stage = wire.stage(event);
    if (kind === "terminal") return this.hasBegun || stage !== "none" ? "useful" : "empty";
    if (stage === "refused" || stage === "delivered") return "useful";
    if (stage === "failed") {
      this.held.push(event);
      return "empty";
    }
    if (stage !== "none") this.hasBegun = true;
    const isFull = this.held.length >= EVENTS_MAX || this.bytes + event.raw.length > BYTES_MAX;
    // Pings and comments only show that the provider is there.
    const isPing = !event.hasData || event.type === "ping";
    if (isFull) return isPing ? "more" : "useful";
    this.isEmpty &&= isPing;
    this.held.push(event);
    this.bytes += event.raw.length;
    return "more";
  }

  /** Gives the events that were held back, once. */
  release(): ServerEvent[] {
    return this.held.splice(0);
  }

  /** Returns the error that an event states which is none of the protocol, and its data. */
  stated(): { readonly refused: Refused; readonly data: string } | undefined {
    for (const { hasData, data } of this.held) {
      const refused = hasData ? refusedInBody(data) : undefined;
      if (refused) return { refused, data };
    }
    return undefined;
  }

  clear(): void {
    this.held.length = 0;
    this.bytes = 0;
    this.hasBegun = false;
    this.isEmpty = true;
  }
}
