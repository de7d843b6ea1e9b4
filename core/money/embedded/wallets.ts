import { requireMicroVnd } from "../../catalogue/amount.ts";
import { failpoint } from "../../process/failpoint.ts";
import type { Balances, CreditTotal, LoadedVersion, WalletSnapshot } from "../hold-store.ts";
import { ofKey, walletKey } from "../purse.ts";
import { balancesOf, type Wallet, walletOf } from "./wallet.ts";

/** Maximum number of versions in a page. */
const PAGE = 1_000;

type ReadWallet = () => Promise<WalletSnapshot | undefined>;

interface Load {
  done: Promise<boolean>;
  /** A movement that arrived during the read, and may be newer than the read. */
  credit: CreditTotal | undefined;
}

/** Loads, credits and reads the wallets and purses in memory. `calls.ts` holds and charges money in them. */
export class EmbeddedWallets {
  private readonly wallets = new Map<string, Wallet>();
  private readonly loading = new Map<string, Load>();

  /** `whenCommitted` resolves once the ledger has every post from before this start. */
  constructor(private readonly whenCommitted: () => Promise<void>) {}

  get(accountId: string, purse?: string): Wallet | undefined {
    return this.wallets.get(walletKey(accountId, purse));
  }

  /** Yields all wallets and purses, also while some are loaded or closed. */
  all(): Iterator<Wallet> {
    return this.wallets.values();
  }

  /** Forgets a wallet or a purse. No call may hold or have posted anything of it. */
  close({ key }: Wallet): void {
    this.wallets.delete(key);
  }

  /** Forgets a wallet if `mayForget` allows it. Returns false if not, or if it is being loaded. */
  forgetOne(
    accountId: string,
    purse: string | null,
    mayForget: (wallet: Wallet) => boolean,
  ): boolean {
    const key = walletKey(accountId, purse);
    const wallet = this.wallets.get(key);
    if (this.loading.has(key) || (wallet && !mayForget(wallet))) return false;
    this.wallets.delete(key);
    return true;
  }

  /** Drops all wallets. Returns false while one is being loaded. */
  forget(): boolean {
    if (this.loading.size > 0) return false;
    this.wallets.clear();
    return true;
  }

  /** Yields the versions of the wallets and purses, in pages. */
  *versions(): Generator<LoadedVersion[]> {
    let page: LoadedVersion[] = [];
    for (const { key, creditVersion } of this.wallets.values()) {
      page.push({ ...ofKey(key), version: creditVersion });
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    yield page;
  }

  load(accountId: string, read: ReadWallet, purse?: string): Promise<boolean> {
    const key = walletKey(accountId, purse);
    if (this.wallets.has(key)) return Promise.resolve(true);
    const running = this.loading.get(key);
    if (running !== undefined) return running.done;
    const load: Load = { done: Promise.resolve(false), credit: undefined };
    this.loading.set(key, load);
    load.done = this.loadNow(key, read, load).finally(() => this.loading.delete(key));
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

  balances(accountId: string, purse?: string | null): Balances | undefined {
    const wallet = this.wallets.get(walletKey(accountId, purse));
    return wallet === undefined ? undefined : balancesOf(wallet);
  }

  private async loadNow(key: string, read: ReadWallet, load: Load): Promise<boolean> {
    // No call can be posted for a wallet that is not loaded. So once the ledger has the replayed calls, a read that
    // begins now includes every call.
    await this.whenCommitted();
    const snapshot = await read();
    if (snapshot === undefined) return false;
    failpoint("wallet.read");
    this.wallets.set(key, walletOf(snapshot, key));
    if (load.credit !== undefined) this.credit(load.credit);
    failpoint("wallet.loaded");
    return true;
  }
}
