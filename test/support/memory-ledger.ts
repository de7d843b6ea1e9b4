import type { LoadedVersion, WalletSnapshot } from "../../core/money/hold-store.ts";
import {
  type CreditResult,
  EntryRefused,
  type Ledger,
  type LedgerSum,
  type ProofProgress,
} from "../../core/money/ledger.ts";
import type {
  DebitEntry,
  Movement,
  ReadableEntry,
  StoredEntry,
} from "../../core/money/outbox-entry.ts";
import { ofKey, walletKey } from "../../core/money/purse.ts";
import { callOf } from "../../core/money/unreadable.ts";
import { MemoryHistory } from "./commit-counts.ts";
import { EpochBooks, epochsOf } from "./epoch-books.ts";
import { takeDebit } from "./take-debit.ts";

interface Charge {
  readonly accountId: string;
  readonly charged: number;
  readonly purses: readonly string[];
}

interface MemoryWallet {
  balance: bigint;
  credited: bigint;
  debited: bigint;
  creditVersion: number;
}

type MoneyOfLedger = Pick<
  Ledger,
  | "history"
  | "commit"
  | "quarantine"
  | "quarantined"
  | "credit"
  | "credited"
  | "completeThrough"
  | "wallet"
  | "purse"
  | "newerWallets"
  | "movedWallets"
  | "sums"
  | "prove"
  | "sum"
  | "unknown"
>;

/** A ledger without a database: as strict, and fast enough for thousands of random histories. */
export class MemoryLedger implements MoneyOfLedger {
  readonly history = new MemoryHistory();
  readonly charges = new Map<string, Charge>();
  readonly epochBooks = new EpochBooks();
  readonly epochs = epochsOf(async (work) => work(this.epochBooks));
  readonly parked: StoredEntry[] = [];
  private readonly walletsById = new Map<string, MemoryWallet>();
  private readonly movements = new Map<string, Movement & { readonly debitEntry?: string }>();
  /** When an account had its last movement, ms since 1970. */
  private readonly movedAtMs = new Map<string, number>();

  addAccount(accountId: string): void {
    this.walletsById.set(accountId, { balance: 0n, credited: 0n, debited: 0n, creditVersion: 0 });
  }

  async hasCall({ callId }: { readonly callId: string }): Promise<boolean> {
    return this.charges.has(callId);
  }

  async commit(entries: readonly ReadableEntry[]): Promise<readonly string[]> {
    this.epochBooks.require(entries);
    for (const { posting } of entries) {
      if (posting && !this.walletsById.has(posting.accountId))
        throw new EntryRefused("no such account");
    }
    const debits = entries.filter((entry) => entry.posting === undefined);
    for (const { posting, chargedMicroVnd } of entries) {
      if (posting === undefined) continue;
      const wallet = this.walletsById.get(posting.accountId);
      if (wallet === undefined || this.charges.has(posting.callId)) continue;
      const { accountId } = posting;
      const purses = posting.purses ?? [];
      this.charges.set(posting.callId, { accountId, charged: chargedMicroVnd, purses });
      wallet.balance -= BigInt(chargedMicroVnd);
      if (wallet.balance < 0n) throw new Error(`${posting.accountId} is below zero`);
    }
    return debits.filter((entry) => !this.take(entry)).map(({ entryId }) => entryId);
  }

  /** Returns false if the hold store gives the money back. */
  private take(entry: DebitEntry): boolean {
    return takeDebit(entry, this.movements, this.walletsById) !== "returned";
  }

  async purse(accountId: string, name: string): Promise<WalletSnapshot> {
    const balance = this.purseBalance(accountId, name) - BigInt(this.parkedWithin(accountId, name));
    return { accountId, balanceMicroVnd: balance, creditVersion: 0, creditedMicroVnd: 0n };
  }

  private purseBalance(accountId: string, name: string): bigint {
    let balance = 0n;
    for (const charge of this.charges.values()) {
      if (charge.accountId === accountId && charge.purses.includes(name))
        balance -= BigInt(charge.charged);
    }
    return balance;
  }

  async quarantine(entry: StoredEntry): Promise<void> {
    this.parked.push(entry);
  }

  async commitQuarantined(callId: string): Promise<boolean> {
    const at = this.parked.findIndex(({ posting }) => posting?.callId === callId);
    const [entry] = at < 0 ? [] : this.parked.splice(at, 1);
    if (entry?.posting === undefined) return false;
    await this.commit([entry]);
    return true;
  }

  async quarantined(): Promise<number> {
    return this.parked.length;
  }

  /** The time by the ledger's clock, ms since 1970. */
  async now(): Promise<number> {
    return Date.now();
  }

  completeThrough(): Promise<number> {
    return this.now();
  }

  async credit(movement: Movement): Promise<CreditResult> {
    if (movement.amountMicroVnd < 0n) return { kind: "out_of_range" };
    const nowMs = await this.now();
    // From here on everything is one step, as a transaction is.
    const earlier = this.earlier(movement);
    if (earlier !== undefined) return earlier;
    const wallet = this.walletsById.get(movement.accountId);
    if (wallet === undefined) return { kind: "no_account" };
    this.movements.set(movement.reference, movement);
    this.movedAtMs.set(movement.accountId, nowMs);
    wallet.balance += movement.amountMicroVnd;
    wallet.credited += movement.amountMicroVnd;
    wallet.creditVersion += 1;
    return { kind: "credited", applied: true, wallet: snapshot(movement.accountId, wallet) };
  }

  async credited(movement: Movement): Promise<CreditResult | undefined> {
    return this.earlier(movement);
  }

  private earlier(movement: Movement): CreditResult | undefined {
    const earlier = this.movements.get(movement.reference);
    const wallet = this.walletsById.get(movement.accountId);
    if (earlier === undefined || wallet === undefined) return undefined;
    const isSame =
      earlier.accountId === movement.accountId &&
      earlier.amountMicroVnd === movement.amountMicroVnd;
    if (!isSame) return { kind: "reference_conflict" };
    return { kind: "credited", applied: false, wallet: snapshot(movement.accountId, wallet) };
  }

  async wallet(accountId: string): Promise<WalletSnapshot | undefined> {
    return this.walletNow(accountId);
  }

  private walletNow(accountId: string): WalletSnapshot | undefined {
    const wallet = this.walletsById.get(accountId);
    if (wallet === undefined) return undefined;
    const left = wallet.balance - this.parkedMicroVnd(accountId);
    return {
      ...snapshot(accountId, { ...wallet, balance: left > 0n ? left : 0n }),
      uncoveredMicroVnd: left < 0n ? -left : 0n,
    };
  }

  async newerWallets(loaded: readonly LoadedVersion[]): Promise<WalletSnapshot[]> {
    return loaded.flatMap(({ accountId, purse, version }) => {
      const wallet = purse === null ? this.walletNow(accountId) : undefined;
      return wallet !== undefined && wallet.creditVersion > version ? [wallet] : [];
    });
  }

  async movedWallets(sinceMs: number): Promise<WalletSnapshot[]> {
    const moved = [...this.movedAtMs].filter(([, atMs]) => atMs >= sinceMs);
    return moved.flatMap(([accountId]) => this.walletNow(accountId) ?? []);
  }

  async prove(): Promise<ProofProgress> {
    return { provenThrough: 0n, last: 0n, isDone: true };
  }

  async *sums(): AsyncGenerator<LedgerSum> {
    for (const accountId of this.walletsById.keys()) {
      const sum = await this.sum(accountId);
      if (sum) yield sum;
    }
    for (const key of this.chargedPurses()) {
      const { accountId, purse } = ofKey(key);
      const sum = await this.sum(accountId, purse);
      if (sum) yield sum;
    }
  }

  async sum(accountId: string, purse: string | null = null): Promise<LedgerSum | undefined> {
    if (purse !== null) return this.purseSum(accountId, purse);
    const wallet = this.walletsById.get(accountId);
    if (wallet === undefined) return undefined;
    let entries = wallet.credited - wallet.debited;
    for (const charge of this.charges.values()) {
      if (charge.accountId === accountId) entries -= BigInt(charge.charged);
    }
    return {
      accountId,
      purse,
      entriesMicroVnd: entries,
      balanceMicroVnd: wallet.balance,
      quarantinedMicroVnd: this.parkedMicroVnd(accountId),
    };
  }

  async unknown(loaded: readonly LoadedVersion[]): Promise<LoadedVersion[]> {
    const charged = this.chargedPurses();
    return loaded.filter(({ accountId, purse }) =>
      purse === null ? !this.walletsById.has(accountId) : !charged.has(walletKey(accountId, purse)),
    );
  }

  private chargedPurses(): Set<string> {
    const keys = new Set<string>();
    for (const { accountId, purses } of this.charges.values())
      for (const name of purses) keys.add(walletKey(accountId, name));
    return keys;
  }

  private purseSum(accountId: string, purse: string): LedgerSum {
    const balance = this.purseBalance(accountId, purse);
    const quarantinedMicroVnd = BigInt(this.parkedWithin(accountId, purse));
    return {
      ...{ accountId, purse, quarantinedMicroVnd },
      ...{ entriesMicroVnd: balance, balanceMicroVnd: balance },
    };
  }

  private parkedWithin(accountId: string, name: string): number {
    const parked = this.parked.filter(
      (entry) => callOf(entry).accountId === accountId && callOf(entry).purses?.includes(name),
    );
    return parked.reduce((sum, { chargedMicroVnd }) => sum + chargedMicroVnd, 0);
  }

  private parkedMicroVnd(accountId: string): bigint {
    const parked = this.parked.filter((entry) => callOf(entry).accountId === accountId);
    return parked.reduce((sum, { chargedMicroVnd }) => sum + BigInt(chargedMicroVnd), 0n);
  }
}

function snapshot(accountId: string, wallet: MemoryWallet): WalletSnapshot {
  return {
    accountId,
    balanceMicroVnd: wallet.balance,
    creditVersion: wallet.creditVersion,
    creditedMicroVnd: wallet.credited,
  };
}
