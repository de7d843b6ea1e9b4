import type { Sql } from "../../database/client.ts";
import { isId } from "../../process/id.ts";
import type { WalletSnapshot } from "../hold-store.ts";
import { readWallets } from "./credit.ts";

type Found = ReadonlyMap<string, WalletSnapshot>;

interface Batch {
  readonly accountIds: Set<string>;
  readonly found: Promise<Found>;
}

/**
 * Reads wallets for loads, one query at a time. Those asked for while it runs go together in the next one: after Redis lost
 * its data, the next call of every wallet loads it. A query begins after all its wallets were asked for, so it sees what
 * was committed before.
 */
export class WalletReads {
  private next: Batch | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly sql: Sql) {}

  /** Returns a wallet, less the charges in quarantine; undefined if there is no such account. */
  async read(accountId: string): Promise<WalletSnapshot | undefined> {
    if (!isId(accountId)) return undefined;
    this.next ??= this.batch();
    this.next.accountIds.add(accountId);
    return (await this.next.found).get(accountId);
  }

  private batch(): Batch {
    const accountIds = new Set<string>();
    const found = this.last.then(() => {
      this.next = undefined;
      return readWallets(this.sql, [...accountIds]);
    });
    this.last = found.catch(() => {});
    return { accountIds, found };
  }
}
