import type { LoadedVersion, WalletSnapshot } from "../../core/money/hold-store.ts";
import type { CreditResult, LedgerSum, ProofProgress } from "../../core/money/ledger.ts";
import type {
  Movement,
  OutboxEntry,
  ReadableEntry,
  StoredEntry,
} from "../../core/money/outbox-entry.ts";
import { MemoryHistory } from "./commit-counts.ts";
import { type EpochBooks, epochsOf } from "./epoch-books.ts";
import { LedgerBooks } from "./ledger-books.ts";

/**
 * The methods of a `Ledger` that move money, without a database: as strict, and fast enough for thousands of random
 * histories.
 */
export class MemoryLedger {
  readonly history = new MemoryHistory();
  private readonly books = new LedgerBooks();
  readonly epochs = epochsOf(async (work) => work(this.epochBooks));

  get epochBooks(): EpochBooks {
    return this.books.epochs;
  }

  /** The committed entries of calls, by call id. */
  get charges(): ReadonlyMap<string, OutboxEntry> {
    return this.books.charges;
  }

  get parked(): StoredEntry[] {
    return this.books.parked();
  }

  addAccount(accountId: string): void {
    this.books.addAccount(accountId);
  }

  async hasCall({ callId }: { readonly callId: string }): Promise<boolean> {
    return this.books.hasCall(callId);
  }

  async commit(entries: readonly ReadableEntry[]): Promise<readonly string[]> {
    return this.books.commit(entries, Date.now());
  }

  async purse(accountId: string, name: string): Promise<WalletSnapshot> {
    return this.books.purse(accountId, name);
  }

  async quarantine(entry: StoredEntry): Promise<void> {
    this.books.park(entry, "for a test");
  }

  async commitQuarantined(callId: string): Promise<boolean> {
    return this.books.commitQuarantined(callId, (entry) => entry);
  }

  async quarantined(): Promise<number> {
    return this.books.quarantine.size;
  }

  /** The time by the ledger's clock, ms since 1970. */
  async now(): Promise<number> {
    return Date.now();
  }

  completeThrough(): Promise<number> {
    return this.now();
  }

  async credit(movement: Movement): Promise<CreditResult> {
    const nowMs = await this.now();
    // From here on everything is one step, as a transaction is.
    return this.books.credit(movement, nowMs);
  }

  async credited(movement: Movement): Promise<CreditResult | undefined> {
    return this.books.credited(movement);
  }

  async wallet(accountId: string): Promise<WalletSnapshot | undefined> {
    return this.books.wallet(accountId);
  }

  async newerWallets(loaded: readonly LoadedVersion[]): Promise<WalletSnapshot[]> {
    return this.books.newerWallets(loaded);
  }

  async movedWallets(sinceMs: number): Promise<WalletSnapshot[]> {
    return this.books.movedWallets(sinceMs);
  }

  async prove(): Promise<ProofProgress> {
    return { provenThrough: 0n, last: 0n, isDone: true };
  }

  async *sums(): AsyncGenerator<LedgerSum> {
    yield* this.books.sums();
  }

  async sum(accountId: string, purse: string | null = null): Promise<LedgerSum | undefined> {
    return this.books.sum(accountId, purse);
  }

  async unknown(loaded: readonly LoadedVersion[]): Promise<LoadedVersion[]> {
    return this.books.unknown(loaded);
  }
}
