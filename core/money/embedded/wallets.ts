import { requireMicroVnd } from "../../catalogue/amount.ts";
import { failpoint } from "../../process/failpoint.ts";
import type {
  Balances,
  CreditTotal,
  LimitBalances,
  LimitSnapshot,
  LoadedVersion,
  WalletSnapshot,
} from "../hold-store.ts";
import { balancesOf, setLimit, type Wallet, walletOf } from "./wallet.ts";

/** Maximum number of versions in a page. */
const PAGE = 1_000;

type ReadWallet = () => Promise<WalletSnapshot | undefined>;

interface Load {
  done: Promise<boolean>;
  /** A movement that arrived during the read, and may be newer than the read. */
  credit: CreditTotal | undefined;
}

/** Loads, credits and reads the wallets and limits in memory. `calls.ts` holds and charges money in them. */
export class EmbeddedWallets {
  private readonly wallets = new Map<string, Wallet>();
  private readonly loading = new Map<string, Load>();
  private readonly whenCommitted: (accountId: string) => Promise<void>;

  /** `whenCommitted` resolves once the ledger has every post of the account from before this start. */
  constructor(whenCommitted: (accountId: string) => Promise<void>) {
    this.whenCommitted = whenCommitted;
  }

  get(accountId: string): Wallet | undefined {
    return this.wallets.get(accountId);
  }

  /** Yields all wallets, also while some are loaded or closed. */
  all(): Iterator<Wallet> {
    return this.wallets.values();
  }

  /** Forgets a wallet. No call may hold or have posted anything of it. */
  close(accountId: string): void {
    this.wallets.delete(accountId);
  }

  /** Drops all wallets. Returns false while one is being loaded. */
  forget(): boolean {
    if (this.loading.size > 0) return false;
    this.wallets.clear();
    return true;
  }

  /** Yields the versions of the wallets and limits, in pages. */
  *versions(): Generator<LoadedVersion[]> {
    let page: LoadedVersion[] = [];
    for (const { accountId, creditVersion, limits } of this.wallets.values()) {
      page.push({ accountId, limit: null, version: creditVersion });
      for (const [limit, { version }] of limits ?? []) page.push({ accountId, limit, version });
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    yield page;
  }

  load(accountId: string, read: ReadWallet): Promise<boolean> {
    if (this.wallets.has(accountId)) return Promise.resolve(true);
    const running = this.loading.get(accountId);
    if (running !== undefined) return running.done;
    const load: Load = { done: Promise.resolve(false), credit: undefined };
    this.loading.set(accountId, load);
    load.done = this.loadNow(accountId, read, load).finally(() => this.loading.delete(accountId));
    return load.done;
  }

  /** Applies a movement. Returns false, and changes nothing, if the wallet would go below zero. */
  credit(movement: CreditTotal): boolean {
    const { accountId, creditVersion, creditedMicroVnd } = movement;
    const wallet = this.wallets.get(accountId);
    if (wallet === undefined) {
      const load = this.loading.get(accountId);
      if (load && creditVersion > (load.credit?.creditVersion ?? 0)) load.credit = movement;
      return true;
    }
    if (creditVersion <= wallet.creditVersion) return true;
    const difference = Number(creditedMicroVnd - wallet.creditedMicroVnd);
    if (wallet.availableMicroVnd + difference < 0) return false;
    requireMicroVnd(
      wallet.availableMicroVnd + wallet.heldMicroVnd + wallet.uncommittedMicroVnd + difference,
    );
    wallet.availableMicroVnd += difference;
    wallet.creditVersion = creditVersion;
    wallet.creditedMicroVnd = creditedMicroVnd;
    return true;
  }

  balances(accountId: string): Balances | undefined {
    const wallet = this.wallets.get(accountId);
    return wallet === undefined ? undefined : balancesOf(wallet);
  }

  setLimit(accountId: string, limit: LimitSnapshot): boolean {
    const wallet = this.wallets.get(accountId);
    if (wallet === undefined) return false;
    setLimit(wallet, limit);
    return true;
  }

  dropLimit(accountId: string, name: string): boolean {
    const limits = this.wallets.get(accountId)?.limits;
    if ((limits?.get(name)?.balances.heldMicroVnd ?? 0) !== 0) return false;
    limits?.delete(name);
    return true;
  }

  limit(accountId: string, name: string): LimitBalances | undefined {
    return this.wallets.get(accountId)?.limits?.get(name)?.balances;
  }

  private async loadNow(accountId: string, read: ReadWallet, load: Load): Promise<boolean> {
    // No call can be posted for a wallet that is not loaded. So once the ledger has the replayed calls, a read that
    // begins now includes every call.
    await this.whenCommitted(accountId);
    const snapshot = await read();
    if (snapshot === undefined) return false;
    failpoint("wallet.read");
    this.wallets.set(accountId, walletOf(snapshot));
    if (load.credit !== undefined) this.credit(load.credit);
    failpoint("wallet.loaded");
    return true;
  }
}
