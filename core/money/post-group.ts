import { atEndOfTurn } from "../process/turn.ts";
import type { HoldStore, Posted } from "./hold-store.ts";
import type { Posting } from "./outbox-entry.ts";

interface QueuedPost {
  readonly posting: Posting;
  resolve(posted: Posted | Promise<Posted>): void;
  reject(error: unknown): void;
}

/** Group commit: posts the calls that end within one turn of the event loop together, with one write. */
export class PostGroup {
  private queue: QueuedPost[] = [];
  private readonly onTurn = () => this.post();

  constructor(private readonly holdStore: Pick<HoldStore, "postAll">) {}

  /** See `HoldStore.post`; runs at the end of this turn. Rejects if the store throws. */
  add(posting: Posting): Promise<Posted> {
    if (this.queue.length === 0) atEndOfTurn("post", this.onTurn);
    return new Promise((resolve, reject) => {
      this.queue.push({ posting, resolve, reject });
    });
  }

  private post(): void {
    const { queue } = this;
    this.queue = [];
    const results = this.holdStore.postAll(queue.map(({ posting }) => posting));
    for (const [at, { resolve, reject }] of queue.entries()) {
      const result = results[at];
      if (result === undefined || result instanceof Error) reject(result);
      else resolve(result);
    }
  }
}
