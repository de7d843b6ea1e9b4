import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { PeriodicTask } from "../process/periodic.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import type { AccountChange } from "./account-rows.ts";
import type { KnownKeys } from "./accounts.ts";

const PAUSE_MS = 1_000;
/** A change is dated by its statement but visible only after its commit, so each poll looks back this much further. */
const COMMIT_MS_MAX = 5_000;

/** Yields pages of the changes of accounts and keys of the last `withinMs`. Other work gets turns between pages. */
type ReadChanges = (withinMs: number) => AsyncIterable<readonly AccountChange[]>;

/**
 * Polls every second for accounts and keys that another process has changed (status, discount or limit) and drops
 * them from this process's cache, once for each change. Needed only if several processes share the ledger.
 */
export class KeyChanges {
  private readonly task: PeriodicTask;
  private readonly readChanges: ReadChanges;
  private readonly known: KnownKeys;
  private readonly clock: Clock;
  private readonly log: ThrottledLog;
  private polledAtMs: number;
  /** The changes that the last poll returned. */
  private seen: ReadonlySet<string> = new Set();

  constructor(readChanges: ReadChanges, known: KnownKeys, clock: Clock, log: Log) {
    this.readChanges = readChanges;
    this.known = known;
    this.clock = clock;
    this.log = new ThrottledLog(log);
    this.polledAtMs = clock.monotonic();
    this.task = new PeriodicTask(() => this.poll());
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async poll(): Promise<number> {
    const nowMs = this.clock.monotonic();
    try {
      await this.apply(this.readChanges(nowMs - this.polledAtMs + COMMIT_MS_MAX));
      this.polledAtMs = nowMs;
    } catch (error) {
      // `polledAtMs` stays, so the next successful poll finds what changed during the outage.
      this.log.warn({ err: error }, "cannot poll key changes; keeping cached keys");
    }
    return PAUSE_MS;
  }

  private async apply(pages: AsyncIterable<readonly AccountChange[]>): Promise<void> {
    const seen = new Set<string>();
    for await (const changes of pages) {
      for (const { accountId, change } of changes) {
        seen.add(change);
        if (!this.seen.has(change)) this.known.forgetAccount(accountId);
      }
    }
    this.seen = seen;
  }
}
