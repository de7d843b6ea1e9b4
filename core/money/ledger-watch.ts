import { backoffMs } from "../process/backoff.ts";
import type { Log } from "../process/log.ts";
import { type Machine, sleep } from "../process/machine.ts";
import { PeriodicTask } from "../process/periodic.ts";
import { program } from "../process/root.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import { messageOf } from "../process/thrown.ts";
import {
  isBehind,
  type LedgerHistory,
  type LedgerProgress,
  merged,
  NO_PROGRESS,
  without,
} from "./ledger-history.ts";
import { LIFETIMES } from "./lifetimes.ts";

/** Remembers the ledger, and the highest progress of it that any process saw, for longer than this process lives. */
export interface KeptProgress {
  /** Keeps the name of the ledger whose money the hold store has, unless one is kept. Returns the kept one. */
  home(ledgerId: string): string | Promise<string>;
  /**
   * Raises the kept counts to `progress`, drops the counts in `dropped` that are unchanged, and returns all kept
   * counts.
   */
  keep(
    progress: LedgerProgress,
    dropped: ReadonlyMap<string, number>,
  ): LedgerProgress | Promise<LedgerProgress>;
  /** Raises the kept counts to `progress`. Each commit does, so it must not cost more with each process. */
  raise(progress: LedgerProgress): void | Promise<void>;
}

interface LedgerWatchOptions {
  readonly history: LedgerHistory;
  readonly kept: KeptProgress;
  readonly machine: Machine;
  readonly log: Log;
}

const UNCHECKED = "the ledger has not been compared yet with the commits that it had confirmed";
const ELSEWHERE =
  "the hold store has the money of another ledger: stores.hot and stores.ledger do not belong together";
const WENT_BACK =
  "the ledger lacks commits that it had confirmed: it was restored from a backup, or is a replica that was behind; " +
  `run \`${program.admin} restore\` (see config/operating/backup.md)`;

/** The hold store has the money of another ledger. */
export class OtherLedger extends Error {
  constructor(home: string, ledgerId: string) {
    super(
      `stores: the hold store has the money of ledger ${home}, and stores.ledger is ledger ${ledgerId}. Calls would be ` +
        "charged in the wrong books. Correct the address of the one or the other; if the ledger of before is gone for " +
        "good, empty that Redis database, or move the journal's folder away",
    );
    this.name = "OtherLedger";
  }
}

/**
 * Notices a ledger that went back, at the start and then every few seconds. Until an operator restores, no hold is taken:
 * a wallet that was loaded before may have more money than the ledger. `README.md` says why this is safe.
 */
export class LedgerWatch {
  private readonly task: PeriodicTask;
  private readonly failures: ThrottledLog;
  /** The highest counts that this process knows of. */
  private known = NO_PROGRESS;
  /** The counts of this process that it has kept. */
  private kept = NO_PROGRESS;
  /** Old counts that the ledger was found to have. Later ones imply them, so they are no longer kept. */
  private outdated: ReadonlyMap<string, number> = new Map();
  private reason: string | undefined = UNCHECKED;
  private forgetAtMs = 0;
  private lastCheck: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: LedgerWatchOptions) {
    const { machine, log } = options;
    this.failures = new ThrottledLog(log, { nowMs: () => machine.monotonic() });
    this.task = new PeriodicTask(() => this.round(), machine);
  }

  /**
   * Compares the ledger with what is kept, before this process takes part in the hold store, then every few seconds. Rejects
   * with OtherLedger if that has the money of another one, and if a store does not reply for `timeoutMs`.
   */
  async start(timeoutMs: number = LIFETIMES.startTimeoutMs): Promise<void> {
    const { machine } = this.options;
    const deadlineMs = machine.monotonic() + timeoutMs;
    for (let failures = 1; ; failures += 1) {
      try {
        await this.compareFirst();
        return this.task.start(LIFETIMES.ledgerCheckMs);
      } catch (error) {
        if (error instanceof OtherLedger) throw error;
        if (machine.monotonic() >= deadlineMs) {
          const text = `stores: cannot compare the hold store with the ledger: ${messageOf(error)}; check both`;
          throw new Error(text, { cause: error });
        }
      }
      const { roundRetryMsMin, roundRetryMsMax } = LIFETIMES;
      await sleep(machine, backoffMs(failures, roundRetryMsMin, roundRetryMsMax));
    }
  }

  private async compareFirst(): Promise<void> {
    const { history, kept } = this.options;
    const { id } = await history.read([]);
    const home = await kept.home(id);
    if (home !== id) throw new OtherLedger(home, id);
    await this.check();
  }

  async stop(): Promise<void> {
    await this.task.stop();
    // The next start must know what was confirmed, even if a backup is restored in between. What is kept may be lost by a
    // fail-over that this process has not noticed.
    await this.keepAgain().catch(() => {});
  }

  /** Why no hold may be taken now; undefined if holds may be taken. */
  get refusal(): string | undefined {
    return this.reason;
  }

  /** A word for `refusal`, for metrics. */
  get cause(): string {
    if (this.reason === ELSEWHERE) return "other_ledger";
    return this.wentBack ? "ledger_went_back" : "ledger_not_compared";
  }

  /**
   * False if the hold store has the calls of another ledger, or if the ledger lacks some of them. Then this process commits
   * its own calls only.
   */
  get isHome(): boolean {
    return this.reason !== ELSEWHERE && !this.wentBack;
  }

  /** True if the ledger was found to lack commits. */
  get wentBack(): boolean {
    return this.reason === WENT_BACK;
  }

  /**
   * Keeps the counts that the ledger has confirmed to this process. It must resolve before a store on another server
   * drops an entry because it is committed, or makes a movement spendable.
   */
  async keep(): Promise<void> {
    const { confirmed } = this.options.history;
    if (!isBehind(this.kept, confirmed)) return;
    await this.options.kept.raise(confirmed);
    this.known = merged(this.known, confirmed);
    this.kept = confirmed;
  }

  /**
   * Keeps all known counts again, because the hold store lost data. The next comparison does so too, but it may wait
   * for the ledger: if this process dies before that, no other notices that the ledger went back. Rejects if the hold
   * store does not reply.
   */
  async keepAgain(): Promise<void> {
    const { history, kept } = this.options;
    const { confirmed } = history;
    this.known = merged(this.known, confirmed);
    const all = await kept.keep(this.known, this.outdated);
    this.known = merged(this.known, all);
    this.kept = confirmed;
  }

  /** Accepts that the ledger lost commits. Call it only once every wallet that was loaded before is gone. */
  async restored(): Promise<void> {
    await this.options.history.beginGeneration(this.known.generation);
    await this.check();
  }

  private async round(): Promise<number> {
    try {
      await this.check();
    } catch (error) {
      this.failures.warn(
        { err: error },
        "cannot compare the ledger with the commits that it had confirmed; retrying",
      );
    }
    return LIFETIMES.ledgerCheckMs;
  }

  /** Runs one comparison at a time, so that an earlier one never overwrites the result of a later one. */
  private check(): Promise<void> {
    const check = this.lastCheck.then(() => this.compare());
    this.lastCheck = check.catch(() => {});
    return check;
  }

  private async compare(): Promise<void> {
    const { history } = this.options;
    await this.keepAgain();
    const { known } = this;
    // The ledger is read last. So it has every known count, unless it lost commits.
    const ledger = await history.read([...known.commits.keys()]);
    // If an operator has restored, the counts that were confirmed to this process before are void.
    history.enter(ledger.generation);
    if ((await this.options.kept.home(ledger.id)) !== ledger.id) return this.found(ELSEWHERE);
    if (isBehind(ledger, known)) return this.found(WENT_BACK);
    const own = history.confirmed.commits;
    const isOld = (writer: string) => !ledger.recent.has(writer) && !own.has(writer);
    const old = [...known.commits].filter(([writer]) => isOld(writer));
    this.outdated = new Map(old);
    this.known = without(merged(this.known, ledger), this.outdated);
    if (ledger.generation > known.generation) await this.keepAgain();
    this.found(undefined);
    // All that was kept when this comparison began: a store that had one of these would miss it.
    await this.forgetOld([...known.commits.keys()]);
  }

  /** The ledger has a row for each writer, and this process reads them all every few seconds. */
  private async forgetOld(kept: readonly string[]): Promise<void> {
    const { history, machine } = this.options;
    if (machine.monotonic() < this.forgetAtMs) return;
    this.forgetAtMs = machine.monotonic() + LIFETIMES.writersForgottenMs;
    await history.forgetOld(kept).catch((error: unknown) => {
      this.failures.warn({ err: error }, "cannot forget old writers; trying again in an hour");
    });
  }

  private found(reason: string | undefined): void {
    const { log } = this.options;
    const { wentBack } = this;
    if (reason === ELSEWHERE && this.reason !== reason)
      log.error({ reason }, "cannot use this ledger; new calls get 503");
    this.reason = reason;
    if (this.wentBack && !wentBack)
      log.error({ reason }, "the ledger went back; new calls get 503");
    if (wentBack && !this.wentBack)
      log.info({}, "the ledger has every commit that it had confirmed; calls are served again");
  }
}
