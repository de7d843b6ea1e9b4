import type { LimitSnapshot, OutboxEntry, WalletSnapshot } from "../../core/contract/hold-store.ts";
import {
  type Credit,
  type CreditResult,
  EntryRefused,
  type Ledger,
  type LedgerSum,
} from "../../core/contract/ledger.ts";

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
  creditVersion: number;
}

type MoneyOfLedger = Pick<
  Ledger,
  "settle" | "quarantine" | "quarantined" | "credit" | "credited" | "wallet" | "sums" | "sum"
>;

/** The money of a ledger without a database: as strict, and quick enough for thousands of random histories. */
export class MemoryLedger implements MoneyOfLedger {
  readonly charges = new Map<string, Charge>();
  readonly parked: OutboxEntry[] = [];
  private readonly walletsById = new Map<string, MemoryWallet>();
  private readonly movements = new Map<string, Credit>();
  private readonly limits: MemoryLimit[] = [];

  addAccount(accountId: string): void {
    this.walletsById.set(accountId, { balance: 0n, credited: 0n, creditVersion: 0 });
  }

  removeAccount(accountId: string): void {
    this.walletsById.delete(accountId);
  }

  async settle(entries: readonly OutboxEntry[]): Promise<void> {
    for (const { posting } of entries) {
      if (!this.walletsById.has(posting.accountId)) throw new EntryRefused("no such account");
    }
    for (const { posting, chargedMicroVnd } of entries) {
      const wallet = this.walletsById.get(posting.accountId);
      if (wallet === undefined || this.charges.has(posting.callId)) continue;
      const { accountId, limits = [] } = posting;
      this.charges.set(posting.callId, { accountId, charged: chargedMicroVnd, limits });
      wallet.balance -= BigInt(chargedMicroVnd);
      if (wallet.balance < 0n) throw new Error(`${posting.accountId} is below zero`);
    }
  }

  /** Sets a limit of an account, as the durable home of budgets would; returns what the hold store is to know. */
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
    return { name, version, totalMicroVnd, availableMicroVnd };
  }

  async quarantine(entry: OutboxEntry): Promise<void> {
    this.parked.push(entry);
  }

  async quarantined(): Promise<number> {
    return this.parked.length;
  }

  async credit(movement: Credit): Promise<CreditResult> {
    const earlier = await this.credited(movement);
    if (earlier !== undefined) return earlier;
    const wallet = this.walletsById.get(movement.accountId);
    if (wallet === undefined) return { kind: "no_account" };
    if (wallet.balance + movement.amountMicroVnd < 0n) return { kind: "below_zero" };
    this.movements.set(movement.reference, movement);
    wallet.balance += movement.amountMicroVnd;
    wallet.credited += movement.amountMicroVnd;
    wallet.creditVersion += 1;
    return { kind: "credited", applied: true, wallet: snapshot(movement.accountId, wallet) };
  }

  async credited(movement: Credit): Promise<CreditResult | undefined> {
    const earlier = this.movements.get(movement.reference);
    const wallet = this.walletsById.get(movement.accountId);
    if (earlier === undefined || wallet === undefined) return undefined;
    if (earlier.amountMicroVnd !== movement.amountMicroVnd) return { kind: "reference_conflict" };
    return { kind: "credited", applied: false, wallet: snapshot(movement.accountId, wallet) };
  }

  async wallet(accountId: string): Promise<WalletSnapshot | undefined> {
    const wallet = this.walletsById.get(accountId);
    if (wallet === undefined) return undefined;
    const balance = wallet.balance - this.parkedMicroVnd(accountId);
    const limits = this.limits.filter((limit) => limit.accountId === accountId);
    return {
      ...snapshot(accountId, { ...wallet, balance }),
      ...(limits.length > 0 && { limits: limits.map((limit) => this.limitSnapshot(limit)) }),
    };
  }

  async *sums(): AsyncGenerator<LedgerSum> {
    for (const accountId of this.walletsById.keys()) {
      const sum = await this.sum(accountId);
      if (sum) yield sum;
    }
  }

  async sum(accountId: string): Promise<LedgerSum | undefined> {
    const wallet = this.walletsById.get(accountId);
    if (wallet === undefined) return undefined;
    let entries = wallet.credited;
    for (const charge of this.charges.values()) {
      if (charge.accountId === accountId) entries -= BigInt(charge.charged);
    }
    return {
      accountId,
      entriesMicroVnd: entries,
      balanceMicroVnd: wallet.balance,
      quarantinedMicroVnd: this.parkedMicroVnd(accountId),
    };
  }

  private parkedMicroVnd(accountId: string): bigint {
    const parked = this.parked.filter(({ posting }) => posting.accountId === accountId);
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
