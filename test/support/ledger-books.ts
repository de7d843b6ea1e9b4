import type { LoadedVersion, WalletSnapshot } from "../../core/money/hold-store.ts";
import {
  type CreditResult,
  EntryRefused,
  EntryUnreadable,
  type LedgerSum,
} from "../../core/money/ledger.ts";
import {
  type DebitEntry,
  isReadable,
  type Movement,
  type OutboxEntry,
  type ReadableEntry,
  type StoredEntry,
} from "../../core/money/outbox-entry.ts";
import { ofKey, walletKey } from "../../core/money/purse.ts";
import { callOf, nameOf } from "../../core/money/unreadable.ts";
import { CommitCounts } from "./commit-counts.ts";
import { EpochBooks } from "./epoch-books.ts";
import { PurseBooks } from "./purse-books.ts";

interface Wallet {
  balance: bigint;
  credited: bigint;
  debited: bigint;
  creditVersion: number;
}

const AT_MIN = Date.UTC(2020, 0);

/**
 * A model of the ledger, as strict as its SQL: each method is one transaction. The SQL itself is tested on a real
 * Postgres, in `test/core/money/ledger`.
 */
export class LedgerBooks {
  /** The first committed entry of each call, by call id. */
  readonly charges = new Map<string, OutboxEntry>();
  readonly quarantine = new Map<string, { readonly entry: StoredEntry; readonly reason: string }>();
  readonly wallets = new Map<string, Wallet>();
  readonly movements = new Map<string, Movement & { readonly debitEntry?: string }>();
  /** When an account had its last movement. */
  readonly movedAtMs = new Map<string, number>();
  /** API keys that were revoked. */
  readonly revokedKeys = new Set<string>();
  purses = new PurseBooks();
  counts = new CommitCounts();
  epochs = new EpochBooks();

  /** Returns a backup. */
  copy(): LedgerBooks {
    const copy = new LedgerBooks();
    for (const [callId, entry] of this.charges) copy.charges.set(callId, entry);
    for (const [callId, parked] of this.quarantine) copy.quarantine.set(callId, parked);
    for (const [accountId, wallet] of this.wallets) copy.wallets.set(accountId, { ...wallet });
    for (const [reference, movement] of this.movements) copy.movements.set(reference, movement);
    for (const [accountId, atMs] of this.movedAtMs) copy.movedAtMs.set(accountId, atMs);
    for (const keyId of this.revokedKeys) copy.revokedKeys.add(keyId);
    copy.purses = this.purses.copy();
    copy.counts = this.counts.copy();
    copy.epochs = this.epochs.copy();
    return copy;
  }

  addAccount(accountId: string): void {
    this.wallets.set(accountId, { balance: 0n, credited: 0n, debited: 0n, creditVersion: 0 });
  }

  /** Returns the ids of the debits that took nothing. */
  commit(entries: readonly ReadableEntry[], nowMs = 0): readonly string[] {
    this.epochs.require(entries);
    this.settle(entries.filter((entry) => entry.posting !== undefined));
    const debits = entries.filter((entry) => entry.posting === undefined);
    const returned = debits
      .filter((entry) => !this.take(entry, nowMs))
      .map(({ entryId }) => entryId);
    for (const entry of entries) this.quarantine.delete(callOf(entry).callId);
    return returned;
  }

  /** Takes money away as `debit_wallet` does. Returns false if the hold store gives it back. */
  private take(entry: DebitEntry, nowMs: number): boolean {
    const { debit } = entry;
    const name = nameOf(entry);
    const amountMicroVnd = -debit.amountMicroVnd;
    const earlier = this.movements.get(debit.reference);
    if (earlier !== undefined) return earlier.debitEntry === name;
    const wallet = this.wallets.get(debit.accountId);
    if (wallet === undefined || wallet.balance < amountMicroVnd) return false;
    this.movements.set(debit.reference, { ...debit, debitEntry: name });
    this.movedAtMs.set(debit.accountId, nowMs);
    wallet.balance -= amountMicroVnd;
    wallet.debited += amountMicroVnd;
    wallet.creditVersion += 1;
    return true;
  }

  private settle(entries: readonly OutboxEntry[]): void {
    const seen = new Set<string>();
    const fresh = entries.filter(({ posting: { callId } }) => {
      if (seen.has(callId) || this.charges.has(callId)) return false;
      seen.add(callId);
      return true;
    });
    const after = new Map<string, bigint>();
    for (const { posting, chargedMicroVnd } of fresh) {
      const { accountId } = posting;
      if (!(posting.at >= AT_MIN)) throw new EntryRefused("no time");
      const balance = after.get(accountId) ?? this.wallets.get(accountId)?.balance;
      if (balance === undefined) throw new EntryRefused(`no account ${accountId}`);
      const left = balance - BigInt(chargedMicroVnd);
      if (left < 0n) throw new EntryRefused(`${accountId} is below zero`);
      after.set(accountId, left);
    }
    for (const [accountId, balance] of after) this.walletOf(accountId).balance = balance;
    for (const entry of fresh) {
      this.charges.set(entry.posting.callId, entry);
      this.purses.charge(entry);
    }
  }

  park(entry: StoredEntry, reason: string): void {
    this.epochs.require([entry]);
    const { callId } = callOf(entry);
    const name = nameOf(entry);
    const isTaken = [...this.movements.values()].some(({ debitEntry }) => debitEntry === name);
    if (!this.hasCall(callId) && !isTaken) this.quarantine.set(callId, { entry, reason });
  }

  /** Commits an entry from quarantine, with the charge that it had there. Returns false if it is not in quarantine. */
  commitQuarantined(callId: string, decode: (entry: StoredEntry) => StoredEntry): boolean {
    const parked = this.quarantine.get(callId);
    if (parked === undefined) return false;
    const entry = decode(parked.entry);
    if (!isReadable(entry)) throw new EntryUnreadable(parked.reason);
    const [returned] = this.commit([entry]);
    if (returned === undefined) return true;
    this.quarantine.set(callId, parked);
    throw new EntryRefused("it takes nothing");
  }

  hasCall(callId: string): boolean {
    return this.charges.has(callId) || this.quarantine.has(callId);
  }

  /** `nowMs`: the time by the ledger's clock. */
  credit(movement: Movement, nowMs = 0): CreditResult {
    const earlier = this.credited(movement);
    if (earlier !== undefined) return earlier;
    const wallet = this.wallets.get(movement.accountId);
    if (wallet === undefined) return { kind: "no_account" };
    if (movement.amountMicroVnd <= 0n) return { kind: "out_of_range" };
    this.movements.set(movement.reference, movement);
    this.movedAtMs.set(movement.accountId, nowMs);
    wallet.balance += movement.amountMicroVnd;
    wallet.credited += movement.amountMicroVnd;
    wallet.creditVersion += 1;
    return { kind: "credited", applied: true, wallet: this.snapshot(movement.accountId, wallet) };
  }

  credited(movement: Movement): CreditResult | undefined {
    const earlier = this.movements.get(movement.reference);
    const wallet = this.wallets.get(movement.accountId);
    if (earlier === undefined || wallet === undefined) return undefined;
    const isSame =
      earlier.accountId === movement.accountId &&
      earlier.amountMicroVnd === movement.amountMicroVnd;
    if (!isSame) return { kind: "reference_conflict" };
    return { kind: "credited", applied: false, wallet: this.snapshot(movement.accountId, wallet) };
  }

  wallet(accountId: string): WalletSnapshot | undefined {
    const wallet = this.wallets.get(accountId);
    if (wallet === undefined) return undefined;
    const left = wallet.balance - this.parkedMicroVnd(accountId);
    const balance = left > 0n ? left : 0n;
    const uncoveredMicroVnd = left < 0n ? -left : 0n;
    return {
      ...this.snapshot(accountId, { ...wallet, balance }),
      uncoveredMicroVnd,
    };
  }

  purse(accountId: string, name: string): WalletSnapshot {
    const balanceMicroVnd = this.purses.balance(accountId, name, this.parked());
    return { accountId, balanceMicroVnd, creditVersion: 0, creditedMicroVnd: 0n };
  }

  newerWallets(loaded: readonly LoadedVersion[]): WalletSnapshot[] {
    return loaded.flatMap(({ accountId, purse, version }) => {
      const wallet = purse === null ? this.wallet(accountId) : undefined;
      return wallet !== undefined && wallet.creditVersion > version ? [wallet] : [];
    });
  }

  movedWallets(sinceMs: number): WalletSnapshot[] {
    const moved = [...this.movedAtMs].filter(([, atMs]) => atMs >= sinceMs);
    return moved.flatMap(([accountId]) => this.wallet(accountId) ?? []);
  }

  /** The sums of every wallet, then of every purse. */
  sums(): LedgerSum[] {
    const purses = [...this.purses.charged.keys()].map(ofKey);
    const wallets = [...this.wallets.keys()].map((accountId) => ({ accountId, purse: null }));
    return [...wallets, ...purses].flatMap(
      ({ accountId, purse }) => this.sum(accountId, purse) ?? [],
    );
  }

  sum(accountId: string, purse: string | null = null): LedgerSum | undefined {
    if (purse !== null) return this.purseSum(accountId, purse);
    const wallet = this.wallets.get(accountId);
    if (wallet === undefined) return undefined;
    let entriesMicroVnd = wallet.credited - wallet.debited;
    for (const { posting, chargedMicroVnd } of this.charges.values()) {
      if (posting.accountId === accountId) entriesMicroVnd -= BigInt(chargedMicroVnd);
    }
    const quarantinedMicroVnd = this.parkedMicroVnd(accountId);
    return {
      accountId,
      purse,
      entriesMicroVnd,
      balanceMicroVnd: wallet.balance,
      quarantinedMicroVnd,
    };
  }

  private purseSum(accountId: string, purse: string): LedgerSum {
    const balanceMicroVnd = this.purses.balance(accountId, purse, []);
    const left = this.purses.balance(accountId, purse, this.parked());
    return {
      ...{ accountId, purse, entriesMicroVnd: balanceMicroVnd, balanceMicroVnd },
      quarantinedMicroVnd: balanceMicroVnd - left,
    };
  }

  /** Returns the wallets and purses that the ledger does not have. */
  unknown(loaded: readonly LoadedVersion[]): LoadedVersion[] {
    return loaded.filter(({ accountId, purse }) =>
      purse === null
        ? !this.wallets.has(accountId)
        : !this.purses.charged.has(walletKey(accountId, purse)),
    );
  }

  /** The entries in quarantine. */
  parked(): StoredEntry[] {
    return [...this.quarantine.values()].map(({ entry }) => entry);
  }

  private parkedMicroVnd(accountId: string): bigint {
    let sum = 0n;
    for (const { entry } of this.quarantine.values()) {
      if (callOf(entry).accountId === accountId) sum += BigInt(entry.chargedMicroVnd);
    }
    return sum;
  }

  private walletOf(accountId: string): Wallet {
    const wallet = this.wallets.get(accountId);
    if (wallet === undefined) throw new Error(`no account ${accountId}`);
    return wallet;
  }

  private snapshot(accountId: string, wallet: Wallet): WalletSnapshot {
    return {
      accountId,
      balanceMicroVnd: wallet.balance,
      creditVersion: wallet.creditVersion,
      creditedMicroVnd: wallet.credited,
    };
  }
}
