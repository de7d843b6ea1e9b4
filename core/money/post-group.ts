import type { HotStore, Posted, Posting } from "../contract/hold-store.ts";
import { atEndOfTurn } from "../process/turn.ts";

type GroupStore = Required<Pick<HotStore, "postAll">>;

function takesGroups(hot: HotStore): hot is HotStore & GroupStore {
  return hot.postAll !== undefined;
}

interface Waiting {
  readonly posting: Posting;
  resolve(posted: Posted): void;
  reject(error: unknown): void;
}

/** Group commit: the calls that end within one turn of the event loop are posted together, with one write. */
export class PostGroup {
  private readonly hot: GroupStore;
  private waiting: Waiting[] = [];
  private readonly onTurn = () => this.post();

  private constructor(hot: GroupStore) {
    this.hot = hot;
  }

  /** Undefined for a store that takes posts one by one. */
  static of(hot: HotStore): PostGroup | undefined {
    return takesGroups(hot) ? new PostGroup(hot) : undefined;
  }

  /** As the store's `post`, at the end of this turn; rejects where the store would throw. */
  add(posting: Posting): Promise<Posted> {
    if (this.waiting.length === 0) atEndOfTurn("post", this.onTurn);
    return new Promise((resolve, reject) => {
      this.waiting.push({ posting, resolve, reject });
    });
  }

  private post(): void {
    const { waiting } = this;
    this.waiting = [];
    const answers = this.hot.postAll(waiting.map(({ posting }) => posting));
    for (const [at, { resolve, reject }] of waiting.entries()) {
      const answer = answers[at];
      if (answer === undefined || answer instanceof Error) reject(answer);
      else resolve(answer);
    }
  }
}
