import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { PeriodicTask } from "../process/periodic.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import type { KnownKeys } from "./accounts.ts";

const PAUSE_MS = 1_000;
/** A change is dated by its statement but visible only after its commit, so each poll looks back this much further. */
const COMMIT_MS_MAX = 5_000;

/** Returns the accounts of which a row or a key changed in the last `withinMs`. */
type ChangedAccounts = (withinMs: number) => Promise<string[]>;

/**
 * Polls every second for accounts and keys that another process has changed (status, discount or limit) and drops
 * them from this process's cache. Needed only if several processes share the ledger.
 */
export class KeyChanges {
  private readonly task: PeriodicTask;
  private readonly changed: ChangedAccounts;
  private readonly known: KnownKeys;
  private readonly clock: Clock;
  private readonly log: ThrottledLog;
  private lookedAtMs: number;

  constructor(changed: ChangedAccounts, known: KnownKeys, clock: Clock, log: Log) {
    this.changed = changed;
    this.known = known;
    this.clock = clock;
    this.log = new ThrottledLog(log);
    this.lookedAtMs = clock.monotonic();
    this.task = new PeriodicTask(() => this.look());
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async look(): Promise<number> {
    const nowMs = this.clock.monotonic();
    try {
      const accounts = await this.changed(nowMs - this.lookedAtMs + COMMIT_MS_MAX);
      for (const accountId of accounts) this.known.forgetAccount(accountId);
      this.lookedAtMs = nowMs;
    } catch (error) {
      // `lookedAtMs` stays, so the next successful poll finds what changed during the outage.
      this.log.warn({ err: error }, "cannot poll key changes; keeping cached keys");
    }
    return PAUSE_MS;
  }
}
