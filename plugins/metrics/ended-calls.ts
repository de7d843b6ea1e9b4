import type { Call, CallsInFlight } from "../../core/contract/index.ts";

const LOOK_AGAIN_MS = 50;

/**
 * Calls that were closed here but perhaps not yet by every plugin: a call is told on when it is over, with
 * its final status and charge, whatever the place of this plugin in the config. One look per turn of the
 * event loop serves all calls of that turn.
 */
export class EndedCalls {
  private readonly open: () => Pick<CallsInFlight, "has">;
  private readonly tell: (call: Call, endedMs: number) => void;
  private readonly calls: Call[] = [];
  private readonly endedMs: number[] = [];
  private looksSoon = false;
  private timer: NodeJS.Timeout | undefined;
  private readonly onTurn = () => {
    this.looksSoon = false;
    this.look();
  };

  /** `open` answers the calls that are not over. */
  constructor(open: () => Pick<CallsInFlight, "has">, tell: (call: Call, endedMs: number) => void) {
    this.open = open;
    this.tell = tell;
  }

  add(call: Call, endedMs: number): void {
    this.calls.push(call);
    this.endedMs.push(endedMs);
    if (this.looksSoon) return;
    this.looksSoon = true;
    setImmediate(this.onTurn);
  }

  /** Tells of the calls that are over by now, and comes back for those that wait for a store. */
  look(): void {
    const open = this.open();
    const { calls, endedMs } = this;
    let kept = 0;
    for (let at = 0; at < calls.length; at++) {
      const call = calls[at];
      const ended = endedMs[at];
      if (call === undefined || ended === undefined) continue;
      if (open.has(call)) {
        calls[kept] = call;
        endedMs[kept] = ended;
        kept++;
      } else this.tell(call, ended);
    }
    calls.length = kept;
    endedMs.length = kept;
    if (kept === 0 || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.look();
    }, LOOK_AGAIN_MS);
    this.timer.unref();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
