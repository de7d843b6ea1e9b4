import type { TranslatingSink } from "./translating-sink.ts";

const SILENT_MS = 15_000;
const LOOK_MS = 5_000;

/** Sends pings into translated streams whose upstream is silent. One timer serves all streams. */
export class KeepAlivePings {
  private readonly sinks = new Set<TranslatingSink>();
  private timer: NodeJS.Timeout | undefined = undefined;

  start(): void {
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  watch(sink: TranslatingSink): void {
    this.sinks.add(sink);
  }

  private look(): void {
    for (const sink of this.sinks) {
      if (sink.isOver) this.sinks.delete(sink);
      else sink.ping(SILENT_MS);
    }
  }
}
