import type { LimitSnapshot, LoadedVersion, WalletSnapshot } from "../../core/money/hold-store.ts";
import {
  type CreditResult,
  EntryRefused,
  type Ledger,
  type LedgerSum,
  type LimitChange,
  type LimitChangeResult,
  type ProofProgress,
} from "../../core/money/ledger.ts";
import type {
  DebitEntry,
  Movement,
  ReadableEntry,
  StoredEntry,
} from "../../core/money/outbox-entry.ts";
import { callOf } from "../../core/money/unreadable.ts";
import { MemoryHistory } from "./commit-counts.ts";
import { EpochBooks, epochsOf } from "./epoch-books.ts";
import { takeDebit } from "./take-debit.ts";

interface MemoryLimit {
  readonly accountId: string;
  readonly name: string;
  version: number;
  totalMicroVnd: number;
}

interface Charge {
  readonly accountId: string;
  readonly charged: number;
  readonly limits: readonly string[];
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
  | "changeLimit"
  | "removeLimit"
  | "wallet"
  | "newerWallets"
  | "movedWallets"
  | "sums"
  | "prove"
  | "sum"
  | "unknownAccounts"
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
  private readonly limits: MemoryLimit[] = [];
  private readonly changes = new Map<string, LimitChange>();
  private readonly removed = new Set<string>();
  /** When an account had its last movement or change of a limit, ms since 1970. */
  private readonly movedAtMs = new Map<string, number>();

  addAccount(accountId: string): void {
    this.walletsById.set(accountId, { balance: 0n, credited: 0n, debited: 0n, creditVersion: 0 });
  }

  removeAccount(accountId: string): void {
    this.walletsById.delete(accountId);
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
      const limits = posting.limits ?? [];
      this.charges.set(posting.callId, { accountId, charged: chargedMicroVnd, limits });
      wallet.balance -= BigInt(chargedMicroVnd);
      if (wallet.balance < 0n) throw new Error(`${posting.accountId} is below zero`);
    }
    return debits.filter((entry) => !this.take(entry)).map(({ entryId }) => entryId);
  }

  /** Returns false if the hold store gives the money back. */
  private take(entry: DebitEntry): boolean {
    return takeDebit(entry, this.movements, this.walletsById) !== "returned";
  }

  async changeLimit(change: LimitChange): Promise<LimitChangeResult> {
    const { accountId, name, kind, reference } = change;
    if (!this.walletsById.has(accountId)) return { kind: "no_account" };
    const earlier = this.changes.get(reference);
    if (earlier !== undefined && !isSame(earlier, change)) return { kind: "reference_conflict" };
    const limit = this.limits.find((each) => each.accountId === accountId && each.name === name);
    if (this.removed.has(`${accountId}|${name}`)) return { kind: "removed" };
    if ((earlier !== undefined || kind === "create") && limit !== undefined) {
      return { kind: "changed", applied: false, limit: this.limitSnapshot(limit) };
    }
    const before = kind === "add" ? (limit?.totalMicroVnd ?? 0) : 0;
    const total = before + Number(change.amountMicroVnd);
    if (total < 0) return { kind: "below_zero" };
    this.changes.set(reference, change);
    this.movedAtMs.set(accountId, await this.now());
    return { kind: "changed", applied: true, limit: this.setLimit(accountId, name, total) };
  }

  async removeLimit(accountId: string, name: string): Promise<boolean> {
    const at = this.limits.findIndex((each) => each.accountId === accountId && each.name === name);
    if (at < 0) return false;
    this.limits.splice(at, 1);
    this.removed.add(`${accountId}|${name}`);
    return true;
  }

  /** Sets a limit of an account without a reference; returns what to apply to the hold store. */
  setLimit(accountId: string, name: string, totalMicroVnd: number): LimitSnapshot {
    let limit = this.limits.find((each) => each.accountId === accountId && each.name === name);
    if (limit === undefined) {
      limit = { accountId, name, version: 0, totalMicroVnd };
      this.limits.push(limit);
    }
    limit.version += 1;
    limit.totalMicroVnd = totalMicroVnd;
    return this.limitSnapshot(limit);
  }

  private limitSnapshot({ accountId, name, version, totalMicroVnd }: MemoryLimit): LimitSnapshot {
    let availableMicroVnd = totalMicroVnd;
    for (const charge of this.charges.values()) {
      if (charge.accountId === accountId && charge.limits.includes(name)) {
        availableMicroVnd -= charge.charged;
      }
    }
    availableMicroVnd -= this.parkedWithin(accountId, name);
    return { name, version, totalMicroVnd, availableMicroVnd };
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
    const limits = this.limits.filter((limit) => limit.accountId === accountId);
    return {
      ...snapshot(accountId, { ...wallet, balance: left > 0n ? left : 0n }),
      uncoveredMicroVnd: left < 0n ? -left : 0n,
      ...(limits.length > 0 && { limits: limits.map((limit) => this.limitSnapshot(limit)) }),
    };
  }

  async newerWallets(loaded: readonly LoadedVersion[]): Promise<WalletSnapshot[]> {
    const newer = loaded.filter(({ accountId, limit, version }) => {
      const isIt = (each: MemoryLimit) => each.accountId === accountId && each.name === limit;
      const now =
        limit === null
          ? this.walletsById.get(accountId)?.creditVersion
          : this.limits.find(isIt)?.version;
      return now !== undefined && now > version;
    });
    const wallets = new Set(newer.map(({ accountId }) => accountId));
    return [...wallets].flatMap((accountId) => this.walletNow(accountId) ?? []);
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
    for (const { accountId, name } of this.limits) {
      const sum = await this.sum(accountId, name);
      if (sum) yield sum;
    }
  }

  async sum(accountId: string, limit: string | null = null): Promise<LedgerSum | undefined> {
    if (limit !== null) return this.limitSum(accountId, limit);
    const wallet = this.walletsById.get(accountId);
    if (wallet === undefined) return undefined;
    let entries = wallet.credited - wallet.debited;
    for (const charge of this.charges.values()) {
      if (charge.accountId === accountId) entries -= BigInt(charge.charged);
    }
    return {
      accountId,
      limit,
      entriesMicroVnd: entries,
      balanceMicroVnd: wallet.balance,
      quarantinedMicroVnd: this.parkedMicroVnd(accountId),
    };
  }

  async unknownAccounts(accountIds: readonly string[]): Promise<string[]> {
    return accountIds.filter((accountId) => !this.walletsById.has(accountId));
  }

  private limitSum(accountId: string, name: string): LedgerSum | undefined {
    const limit = this.limits.find((each) => each.accountId === accountId && each.name === name);
    if (limit === undefined) return undefined;
    const parked = BigInt(this.parkedWithin(accountId, name));
    const left = BigInt(this.limitSnapshot(limit).availableMicroVnd) + parked;
    const amounts = { entriesMicroVnd: left, balanceMicroVnd: left, quarantinedMicroVnd: parked };
    return { accountId, limit: name, ...amounts };
  }

  private parkedWithin(accountId: string, name: string): number {
    const parked = this.parked.filter(
      (entry) => callOf(entry).accountId === accountId && callOf(entry).limits?.includes(name),
    );
    return parked.reduce((sum, { chargedMicroVnd }) => sum + chargedMicroVnd, 0);
  }

  private parkedMicroVnd(accountId: string): bigint {
    const parked = this.parked.filter((entry) => callOf(entry).accountId === accountId);
    return parked.reduce((sum, { chargedMicroVnd }) => sum + BigInt(chargedMicroVnd), 0n);
  }
}

function isSame(one: LimitChange, other: LimitChange): boolean {
  return (["accountId", "name", "kind", "amountMicroVnd"] as const).every(
    (field) => one[field] === other[field],
  );
}

function snapshot(accountId: string, wallet: MemoryWallet): WalletSnapshot {
  return {
    accountId,
    balanceMicroVnd: wallet.balance,
    creditVersion: wallet.creditVersion,
    creditedMicroVnd: wallet.credited,
  };
}
