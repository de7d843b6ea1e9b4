import { setImmediate, setTimeout } from "node:timers/promises";
import type { Services } from "../../core/plugin/index.ts";

/**
 * The export pauses for this many times the delay of the thread: if turns take 1 ms longer than usual, the next page
 * waits 10 ms.
 */
const PAUSES_PER_DELAY = 10;
const PAUSE_MS_MAX = 1_000;

type Sleep = (ms: number) => Promise<unknown>;

/**
 * Lets the exports of all accounts take turns, one page at a time, because the thread that writes them also serves
 * calls. The busier it is, the longer the pause after a page: an idle gateway exports at full speed.
 */
export class ExportTurns {
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly clock: Pick<Services["clock"], "monotonic">,
    private readonly sleep: Sleep = (ms) => setTimeout(ms),
  ) {}

  /** Runs `readPage` after the pages that are already waiting. */
  take<Page>(readPage: () => Promise<Page>): Promise<Page> {
    const page = this.last.then(readPage);
    this.last = page.catch(() => undefined).then(() => this.pause());
    return page;
  }

  private async pause(): Promise<void> {
    const beganMs = this.clock.monotonic();
    await setImmediate();
    const pauseMs = Math.round(PAUSES_PER_DELAY * (this.clock.monotonic() - beganMs));
    if (pauseMs > 0) await this.sleep(Math.min(pauseMs, PAUSE_MS_MAX));
  }
}
