import type { EndedCall } from "../plugin/call.ts";
import type { Log } from "../process/log.ts";
import { atEndOfTurn } from "../process/turn.ts";
import type { EndedHttpCall } from "./http-call.ts";
import type { Pipeline } from "./pipeline.ts";

/**
 * Reports each ended call once: to the plugins that it reached, then to `onEnded`. Runs at the end
 * of a turn of the event loop, after everything that clients wait for.
 */
export class EndedCalls {
  private readonly onEnded: (call: EndedCall) => void;
  private readonly log: Log;
  private calls: EndedHttpCall[] = [];
  /** The plugins of each call. A reload replaces them only for later calls. */
  private pipelines: Pipeline[] = [];
  private readonly onTurn = () => this.report();

  constructor(onEnded: (call: EndedCall) => void, log: Log) {
    this.onEnded = onEnded;
    this.log = log;
  }

  add(call: EndedHttpCall, pipeline: Pipeline): void {
    if (this.calls.length === 0) atEndOfTurn("ended", this.onTurn);
    this.calls.push(call);
    this.pipelines.push(pipeline);
  }

  /** Reports the waiting calls now. */
  report(): void {
    const { calls, pipelines } = this;
    this.calls = [];
    this.pipelines = [];
    for (let at = 0; at < calls.length; at++) {
      const call = calls[at];
      if (call === undefined) continue;
      pipelines[at]?.ended(call, this.log);
      this.onEnded(call);
    }
  }
}
