import type { EndedCall } from "../contract/call.ts";
import type { Log } from "../process/log.ts";
import { atEndOfTurn } from "../process/turn.ts";
import type { EndedHttpCall } from "./http-call.ts";
import type { Pipeline } from "./pipeline.ts";

/**
 * Reports calls that are over, once each: to the plugins that they reached, then to `onEnded`. It does so at the
 * end of the event loop's turn, after everything that clients wait for.
 */
export class EndedCalls {
  private readonly onEnded: (call: EndedCall) => void;
  private readonly log: Log;
  private calls: EndedHttpCall[] = [];
  /** The plugins of each call; a reload replaces them for the calls that come after it. */
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

  /** Reports at once what waits for the end of the turn. */
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
