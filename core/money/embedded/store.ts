import { type Machine, sleep, systemMachine } from "../../process/machine.ts";
import type {
  Balances,
  CreditTotal,
  DebitResult,
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  HoldResult,
  HoldStore,
  HoldStoreHealth,
  LoadedVersion,
  Posted,
  RestoreResult,
  WalletSnapshot,
} from "../hold-store.ts";
import type { JournalOptions } from "../journal/journal.ts";
import type { LedgerHistory } from "../ledger-history.ts";
import { LedgerWatch } from "../ledger-watch.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { DebitEntry, Posting, StoredEntry } from "../outbox-entry.ts";
import { RevokedKeys } from "../revoked-keys.ts";
import type { StandingCall } from "../standing.ts";
import { EmbeddedCalls } from "./calls.ts";
import { type IdleTimes, IdleWallets } from "./idle-wallets.ts";
import { FileKeptProgress } from "./kept-progress.ts";
import { PostedCalls } from "./posted-calls.ts";
import { EmbeddedWallets } from "./wallets.ts";

interface EmbeddedHoldStoreOptions {
  readonly journal: JournalOptions;
  /** Holds are refused while at least this many posted calls are uncommitted (about 1.3 KB of memory each). */
  readonly outboxEntriesMax: number;
  /** Returns why all holds are refused, whatever the wallets have; undefined if they are not. */
  readonly refusal?: () => string | undefined;
  readonly history: LedgerHistory;
  readonly times?: IdleTimes;
}

const RESTORING = "wallets are being loaded from the ledger again";
const REVOKED: HoldResult = { kind: "revoked" };
const GONE: ExtendResult = { kind: "gone" };
/** Their commit takes a second or two, for which the first call of an account may wait. */
const REPLAYED_MAX = 20_000;
const noRefusal = () => undefined;

/**
 * The hold store of a single process: wallets and holds in memory, posted calls in a journal. A kill -9 loses the
 * holds, whose calls died too, and no posted call. Everything but `load` and `read` is synchronous.
 */
export class EmbeddedHoldStore implements HoldStore {
  private readonly wallets: EmbeddedWallets;
  private readonly calls: EmbeddedCalls;
  private readonly posted: PostedCalls;
  private readonly idle: IdleWallets;
  private readonly watch: LedgerWatch;
  private readonly machine: Machine;
  private readonly revoked: RevokedKeys;
  private readonly locked: () => string | undefined;
  private isRestoring = false;

  constructor(options: EmbeddedHoldStoreOptions) {
    const { journal, outboxEntriesMax, history, refusal = noRefusal, times = LIFETIMES } = options;
    const { folder, log, machine = systemMachine } = journal;
    const kept = new FileKeptProgress(machine, folder, log);
    this.watch = new LedgerWatch({ history, kept, machine, log });
    this.machine = machine;
    this.revoked = new RevokedKeys(machine);
    this.locked = refusal;
    const posted = new PostedCalls(journal, outboxEntriesMax);
    this.posted = posted;
    this.wallets = new EmbeddedWallets(() => posted.replayed());
    this.calls = new EmbeddedCalls(this.wallets, posted, machine);
    this.idle = new IdleWallets(this.wallets, this.calls, machine, times);
  }

  async start(): Promise<void> {
    await this.posted.start();
    try {
      await this.watch.requireHome();
    } catch (error) {
      await this.posted.stop();
      throw error;
    }
    await this.watch.start();
    this.idle.start();
  }

  async stop(): Promise<void> {
    await this.idle.stop();
    await this.watch.stop();
    await this.posted.stop();
  }

  hold(request: HoldRequest): HoldResult {
    // Checked first: a client with a revoked key must not try again.
    if (this.revoked.has(request.keyId)) return REVOKED;
    const reason = this.refusal();
    return reason === undefined ? this.calls.hold(request) : { kind: "unavailable", reason };
  }

  extend(request: ExtendRequest): ExtendResult {
    return this.locked() === undefined ? this.calls.extend(request) : GONE;
  }

  post(posting: Posting): Posted {
    const [result] = this.calls.postAll([posting]);
    if (result === undefined || result instanceof Error) throw result;
    return result;
  }

  postAll(postings: readonly Posting[]): (Posted | Error)[] {
    return this.calls.postAll(postings);
  }

  debit(entry: DebitEntry): DebitResult {
    const reason = this.refusal();
    return reason === undefined ? this.calls.debit(entry) : { kind: "unavailable", reason };
  }

  void(callId: string): void {
    this.calls.void(callId);
  }

  load(
    accountId: string,
    read: () => Promise<WalletSnapshot | undefined>,
    purse?: string,
  ): Promise<boolean> {
    return this.wallets.load(accountId, read, purse);
  }

  credit(movement: CreditTotal): boolean {
    return this.wallets.credit(movement);
  }

  balances(accountId: string, purse?: string | null): Balances | undefined {
    return this.wallets.balances(accountId, purse);
  }

  /** Drops all wallets, to load them again. Returns false, and drops none, while one is in use. */
  forgetWallets(): boolean {
    return this.calls.size === 0 && this.posted.size === 0 && this.wallets.forget();
  }

  async *loadedVersions(): AsyncGenerator<LoadedVersion[]> {
    yield* this.wallets.versions();
  }

  revoke(keyId: string): void {
    this.revoked.add(keyId);
  }

  restore(keyId: string): void {
    this.revoked.delete(keyId);
  }

  read(max: number, waitMs: number): Promise<StoredEntry[]> {
    return this.posted.read(max, waitMs);
  }

  acknowledge(entries: readonly StoredEntry[]): void {
    this.calls.acknowledge(entries);
  }

  uncommittedCalls(): number {
    return this.posted.size;
  }

  findUncommitted(callId: string): StoredEntry | undefined {
    return this.posted.uncommitted(callId);
  }

  unsent(): StandingCall[] {
    return [];
  }

  unsyncedMs(): number {
    return this.posted.unsyncedMs;
  }

  async *standing(): AsyncGenerator<StandingCall[]> {
    yield this.calls.standing();
    yield this.posted.standing();
  }

  health(): HoldStoreHealth {
    const reason = this.refusal() ?? this.calls.refusal();
    if (reason === undefined) return this.healthOfReplay();
    const cause = reason === this.watch.refusal ? this.watch.cause : "journal_or_lock";
    return { kind: "away", reason, cause };
  }

  /** A wallet loads only once the ledger has the calls of before the start. */
  private healthOfReplay(): HoldStoreHealth {
    const { leftToReplay } = this.posted;
    if (leftToReplay <= REPLAYED_MAX) return { kind: "ok" };
    const reason = `${leftToReplay} calls that were posted before the start are not in the ledger yet`;
    return { kind: "away", reason, cause: "replaying" };
  }

  ledgerWentBack(): boolean {
    return this.watch.wentBack;
  }

  /** Waits until no wallet is in use: what a running call holds is only in this memory. */
  async restoreFromLedger(): Promise<RestoreResult> {
    this.isRestoring = true;
    try {
      const deadlineMs = this.machine.monotonic() + LIFETIMES.restoreWaitMs;
      while (!this.forgetWallets()) {
        if (this.machine.monotonic() >= deadlineMs) {
          const reason = `${this.calls.size} calls are running, ${this.posted.size} are not committed`;
          return { kind: "busy", reason };
        }
        await sleep(this.machine, LIFETIMES.restorePollMs);
      }
      await this.watch.restored();
      return { kind: "restored" };
    } finally {
      this.isRestoring = false;
    }
  }

  private refusal(): string | undefined {
    return this.locked() ?? (this.isRestoring ? RESTORING : this.watch.refusal);
  }
}
