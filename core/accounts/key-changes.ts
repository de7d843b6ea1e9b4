import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { PeriodicTask } from "../process/periodic.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import type { KnownKeys } from "./accounts.ts";

const PAUSE_MS = 1_000;
/** A change counts from its statement, but can be seen only from its commit, which comes a little later. */
const COMMIT_MS_MAX = 5_000;

/** The accounts that changed within so long, or a key of which did. */
type ChangedAccounts = (withinMs: number) => Promise<string[]>;

/**
 * Looks every second for accounts and keys that another process has changed (suspended, revoked, another discount
 * or limit) and has this one forget what it knew of them. For ledgers that several processes share.
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
      // Known keys stay good while the ledger is away; what changed meanwhile is found when it is back.
      this.log.warn({ err: error }, "cannot poll key changes; known keys stay as they are");
    }
    return PAUSE_MS;
  }
}
