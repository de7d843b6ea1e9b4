import { backoffMs } from "../process/backoff.ts";
import { failpoint } from "../process/failpoint.ts";
import type { Log } from "../process/log.ts";
import { type Machine, systemMachine } from "../process/machine.ts";
import { program } from "../process/root.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import { withTimeout } from "../process/timeout.ts";
import { WakeableSleep } from "../process/wakeable-sleep.ts";
import type { Backlog } from "./backlog.ts";
import type { HoldStore } from "./hold-store.ts";
import { EntryRefused, type Ledger } from "./ledger.ts";
import { MembershipEnded } from "./ledger-epochs.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { isReadable, type ReadableEntry, type StoredEntry } from "./outbox-entry.ts";
import { callOf } from "./unreadable.ts";

interface CommitterOptions {
  readonly holdStore: HoldStore;
  readonly ledger: Ledger;
  readonly log: Log;
  /** Maximum number of calls in one transaction. */
  readonly batchEntries: number;
  /**
   * Maximum pause after a batch that was not full, so that the next one fills up. The pause is shorter after a few
   * calls: `lingerMsPerCall` for each.
   */
  readonly lingerMs: number;
  /** Learns the rate of commits. */
  readonly backlog?: Backlog;
  readonly machine?: Machine;
}

/** Counts of posted calls since the start of this process. */
export interface CommitterStatus {
  readonly committedCalls: number;
  /** Refused by the ledger, and in quarantine. */
  readonly quarantinedCalls: number;
  /** Entries that this version cannot read, which are in quarantine as text. */
  readonly unreadableEntries: number;
  /** True while the ledger or the hold store is unavailable. */
  readonly failing: boolean;
}

/**
 * Moves posted calls from the outbox to the ledger: read, commit, acknowledge. After a crash between two of these steps
 * the same calls are committed again, which changes nothing. While the ledger is down the calls stay in the outbox.
 */
export class Committer {
  private running: Promise<void> | undefined;
  private stopAt = Number.POSITIVE_INFINITY;
  private stopping = false;
  private readonly machine: Machine;
  private readonly pause: WakeableSleep;
  private readonly log: ThrottledLog;
  /** The latest acknowledgement: the next batch is committed beside it. */
  private acknowledged: Promise<void> | undefined;
  private failures = 0;
  private committed = 0;
  private quarantined = 0;
  private unreadable = 0;

  constructor(private readonly options: CommitterOptions) {
    this.machine = options.machine ?? systemMachine;
    this.pause = new WakeableSleep(this.machine);
    this.log = new ThrottledLog(options.log, { nowMs: () => this.machine.monotonic() });
  }

  /** Counts since the start, for metrics. */
  get status(): CommitterStatus {
    return {
      committedCalls: this.committed,
      quarantinedCalls: this.quarantined,
      unreadableEntries: this.unreadable,
      failing: this.failures > 0,
    };
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Commits the rest for up to `limitMs`, then stops. Calls that remain stay in the outbox for the next start. */
  async stop(limitMs: number): Promise<void> {
    if (this.running === undefined) return;
    this.stopping = true;
    this.stopAt = this.machine.monotonic() + limitMs;
    this.pause.wake();
    await withTimeout(this.running, limitMs, this.machine);
    const left = this.options.holdStore.uncommittedCalls();
    if (left > 0)
      this.options.log.warn(
        { calls: left },
        "stopped before all calls were committed; the next start commits the rest",
      );
  }

  private async run(): Promise<void> {
    await this.commitUntilStopped();
    await this.acknowledged;
  }

  private async commitUntilStopped(): Promise<void> {
    const { batchEntries, lingerMs } = this.options;
    while (this.machine.monotonic() < this.stopAt) {
      const read = await this.step();
      if (this.stopping && read === 0) return;
      if (read === undefined)
        await this.sleep(
          backoffMs(this.failures, LIFETIMES.commitRetryMsMin, LIFETIMES.commitRetryMsMax),
        );
      else if (read === 0) {
        // A store that has entries but must not return them yet does not wait. Pause, so that timers and sockets are served.
        await this.sleep(LIFETIMES.emptyReadPauseMs);
      } else if (read < batchEntries) {
        await this.sleep(Math.min(lingerMs, read * LIFETIMES.lingerMsPerCall));
      }
    }
  }

  /** Commits one batch. Returns its size, or undefined if it must be retried. */
  private async step(): Promise<number | undefined> {
    const { holdStore, batchEntries } = this.options;
    try {
      const entries = await holdStore.read(batchEntries, this.stopping ? 0 : LIFETIMES.readWaitMs);
      if (entries.length > 0) {
        failpoint("commit.read");
        const returned = await this.commitReadable(entries).catch((error: unknown) => {
          if (error instanceof MembershipEnded) holdStore.refused?.(entries);
          throw error;
        });
        failpoint("commit.committed");
        await this.acknowledged;
        this.acknowledged = this.acknowledge(entries.map((entry) => outcomeOf(entry, returned)));
        this.committed += entries.length;
        this.options.backlog?.committed(entries.length);
        this.recovered();
      }
      return entries.length;
    } catch (error) {
      this.failed(error);
      return undefined;
    }
  }

  private async acknowledge(entries: readonly StoredEntry[]): Promise<void> {
    await this.options.holdStore.acknowledge(entries);
    failpoint("commit.acknowledged");
  }

  /**
   * Commits a batch. Entries that cannot be read go to quarantine, so that no other entry and no bucket waits for them.
   * Returns what `Ledger.commit` returns.
   */
  private async commitReadable(entries: readonly StoredEntry[]): Promise<readonly string[]> {
    const readable: ReadableEntry[] = [];
    for (const entry of entries) {
      if (isReadable(entry)) readable.push(entry);
      else await this.quarantine(entry, entry.reason);
    }
    return readable.length > 0 ? this.commit(readable) : [];
  }

  /** Commits a batch. If the ledger refuses an entry for good, halves the batch until that entry is alone. */
  private async commit(entries: readonly ReadableEntry[]): Promise<readonly string[]> {
    try {
      return await this.options.ledger.commit(entries);
    } catch (error) {
      if (!(error instanceof EntryRefused)) throw error;
      const [entry] = entries;
      if (entries.length === 1 && entry !== undefined) {
        await this.quarantine(entry, error.message);
        return [];
      }
      const middle = entries.length >> 1;
      const returned = await this.commit(entries.slice(0, middle));
      return [...returned, ...(await this.commit(entries.slice(middle)))];
    }
  }

  private async quarantine(entry: StoredEntry, reason: string): Promise<void> {
    await this.options.ledger.quarantine(entry, reason);
    const { callId, accountId } = callOf(entry);
    const fields = { callId, accountId, chargedMicroVnd: entry.chargedMicroVnd, reason };
    if (isReadable(entry)) {
      this.quarantined += 1;
      const text =
        "cannot commit a call; it is in quarantine, and reconcile shows its charge as drift";
      this.options.log.error(fields, text);
    } else {
      this.unreadable += 1;
      const text = `cannot read a posted call; it is in quarantine as text, see ${program.admin} quarantine list`;
      this.log.warn(fields, text);
    }
  }

  private failed(error: unknown): void {
    this.failures += 1;
    this.log.warn(
      {
        err: error,
        failures: this.failures,
        uncommitted: this.options.holdStore.uncommittedCalls(),
      },
      "cannot commit posted calls to the ledger; retrying",
    );
  }

  private recovered(): void {
    if (this.failures > 0)
      this.options.log.info({ failures: this.failures }, "posted calls reach the ledger again");
    this.failures = 0;
  }

  private sleep(ms: number): Promise<void> {
    return this.pause.sleep(this.stopping ? Math.min(ms, LIFETIMES.stoppingPauseMsMax) : ms);
  }
}

/** `returned`: the ids of debits whose money the wallet gets back. */
function outcomeOf(entry: StoredEntry, returned: readonly string[]): StoredEntry {
  const isReturned = "debit" in entry && returned.includes(entry.entryId);
  return isReturned ? { ...entry, isReturned } : entry;
}
