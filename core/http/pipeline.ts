import type { Outcome } from "../plugin/call.ts";
import type { AwaitableVerdict, Plugin, Sink, Verdict } from "../plugin/plugin.ts";
import type { Log } from "../process/log.ts";
import type { ServerEvent } from "../sse/reader.ts";
import type { EndedHttpCall, HttpCall } from "./http-call.ts";

type Stage = "admit" | "request";

/** Called after the last byte of a call, with the plugins that served it. */
export type OnOver = (call: HttpCall, pipeline: Pipeline) => void;

/** Runs the plugins of the config over a call, in the order of the config. */
export class Pipeline {
  private readonly wrapping: readonly Plugin[];

  constructor(readonly plugins: readonly Plugin[]) {
    this.wrapping = plugins.filter((plugin) => plugin.stream);
  }

  /** Runs one stage of the plugins from the index `from` on, until one refuses the call. */
  run(stage: Stage, call: HttpCall, from = 0): AwaitableVerdict {
    for (let at = from; at < this.plugins.length; at++) {
      if (call.entered <= at) call.entered = at + 1;
      const verdict = this.plugins[at]?.[stage]?.(call);
      if (verdict === undefined) continue;
      if (verdict instanceof Promise) return this.runRest(stage, call, at + 1, verdict);
      return verdict;
    }
    return undefined;
  }

  /** Returns the sink that the upstream writes to. What it gets passes through every plugin to `client`. */
  wrap(call: HttpCall, client: Sink): Sink {
    let sink = client;
    for (const plugin of this.wrapping) {
      const ordered = new OrderedSink(plugin.name, sink, call);
      const wrapped = plugin.stream?.(call, ordered) ?? ordered;
      // A plugin that opts out costs nothing here.
      if (wrapped !== ordered) sink = wrapped;
    }
    return sink;
  }

  /**
   * Runs the `close` of every plugin that the call reached, even if one fails, then rejects with the first failure.
   * Returns undefined if all of them were synchronous. `before`: the failure of one before the index `from`.
   */
  close(call: HttpCall, from = 0, before?: unknown): void | Promise<void> {
    let failure = before;
    for (let at = from; at < call.entered; at++) {
      try {
        const pending = this.plugins[at]?.close?.(call);
        if (pending) return this.closeRest(call, at + 1, pending, failure);
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }

  /** Runs the `ended` of every plugin that the call reached. Logs an error and goes on with the next. */
  ended(call: EndedHttpCall, log: Log): void {
    for (let at = 0; at < call.entered; at++) {
      const plugin = this.plugins[at];
      if (!plugin?.ended) continue;
      try {
        plugin.ended(call);
      } catch (error) {
        const fields = { err: error, plugin: plugin.name, call_id: call.id };
        log.error(fields, "a plugin failed after the end of a call; the call is not affected");
      }
    }
  }

  private async closeRest(
    call: HttpCall,
    from: number,
    pending: Promise<void>,
    before: unknown,
  ): Promise<void> {
    let failure = before;
    try {
      await pending;
    } catch (error) {
      failure ??= error;
    }
    return this.close(call, from, failure);
  }

  private async runRest(
    stage: Stage,
    call: HttpCall,
    next: number,
    pending: Promise<Verdict>,
  ): Promise<Verdict> {
    const verdict = await pending;
    // If the client has left, no further plugin runs. In particular, none takes a hold.
    if (verdict !== undefined || call.gone) return verdict;
    return this.run(stage, call, next);
  }
}

type Use = "head" | "event" | "data" | "end";

/** A plugin used its client's sink out of order. */
export class SinkMisuse extends Error {
  constructor(
    readonly plugin: string,
    use: Use,
    after: Use | "nothing",
  ) {
    super(`plugin "${plugin}" called ${use} of its client's sink after ${after}`);
    this.name = "SinkMisuse";
  }
}

/**
 * The sink that a plugin writes to. Passes everything on, and checks the order. The first use out of order ends the
 * call as a bug of that plugin; neither it nor any later use reaches the client.
 *
 * Wraps every sink in production too. It costs one comparison per event. Without it, core could not name the plugin:
 * the client's end sees only what all plugins let through.
 */
export class OrderedSink implements Sink {
  private last: Use | "nothing" | "misuse" = "nothing";

  constructor(
    private readonly plugin: string,
    private readonly client: Sink,
    private readonly call: HttpCall,
  ) {}

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

  /** Reports instead of throwing: a timer may call the plugin, and a throw there would end the process. */
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
