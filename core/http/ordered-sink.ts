import type { Outcome } from "../plugin/call.ts";
import type { Sink } from "../plugin/plugin.ts";
import type { ServerEvent } from "../sse/reader.ts";
import type { HttpCall } from "./http-call.ts";

type Use = "head" | "event" | "data" | "end";

/** A plugin used its client's sink out of order. */
export class SinkMisuse extends Error {
  readonly plugin: string;

  constructor(plugin: string, use: Use, after: Use | "nothing") {
    super(`plugin "${plugin}" called ${use} of its client's sink after ${after}`);
    this.name = "SinkMisuse";
    this.plugin = plugin;
  }
}

/**
 * The sink that a plugin writes to. Passes everything on, and checks the order. The first use out
 * of order ends the call as a bug of that plugin; neither it nor any later use reaches the client.
 *
 * Wraps every sink in production too. It costs one comparison per event. Without it, core could not
 * name the plugin: the client's end sees only what all plugins let through.
 */
export class OrderedSink implements Sink {
  private readonly plugin: string;
  private readonly client: Sink;
  private readonly call: HttpCall;
  private last: Use | "nothing" | "misuse" = "nothing";

  constructor(plugin: string, client: Sink, call: HttpCall) {
    this.plugin = plugin;
    this.client = client;
    this.call = call;
  }

  head(status: number, headers: readonly string[]): void {
    if (this.last !== "nothing") return this.misused("head");
    this.last = "head";
    this.client.head(status, headers);
  }

  event(event: ServerEvent): void {
    if (this.last !== "event" && this.last !== "head") return this.misused("event");
    this.last = "event";
    this.client.event(event);
  }

  data(bytes: Uint8Array): void {
    if (this.last !== "data" && this.last !== "head") return this.misused("data");
    this.last = "data";
    this.client.data(bytes);
  }

  end(outcome: Outcome): void {
    // Any other outcome writes an error with its own head.
    const needsHead = outcome.kind === "complete" || outcome.kind === "refused";
    if (this.last === "end" || (needsHead && this.last === "nothing")) return this.misused("end");
    if (this.last === "misuse") return;
    this.last = "end";
    this.client.end(outcome);
  }

  /**
   * Reports instead of throwing: a timer may call the plugin, and a throw there would end the
   * process.
   */
  private misused(use: Use): void {
    if (this.last === "misuse") return;
    const misuse = new SinkMisuse(this.plugin, use, this.last);
    this.last = "misuse";
    const { flow } = this.call;
    // The exchange has not begun: the plugin is still in its `stream`.
    if (!flow) throw misuse;
    flow.bug(misuse);
  }
}
