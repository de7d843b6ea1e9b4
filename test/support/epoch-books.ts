import {
  type LedgerEpoch,
  type LedgerEpochs,
  MembershipEnded,
} from "../../core/money/ledger-epochs.ts";
import type { StoredEntry } from "../../core/money/outbox-entry.ts";

interface Epoch {
  name: string;
  isRestored: boolean;
  isOpen: boolean;
}

/** The epochs that a ledger keeps, as `hold_epochs`, `hold_members` and their functions do. */
export class EpochBooks {
  readonly epochs = new Map<string, Epoch>();
  /** `<bucket>|<gateway>` to the epoch. */
  readonly members = new Map<string, string>();

  read(bucket: string): LedgerEpoch {
    const members = new Map<string, string>();
    for (const [member, epoch] of this.members) {
      const [of = "", gateway = ""] = member.split("|");
      if (of === bucket) members.set(gateway, epoch);
    }
    const { name = "", isRestored = false } = this.epochs.get(bucket) ?? {};
    return { name, isRestored, members };
  }

  begin(bucket: string, before: string, name: string, isRestored: boolean): boolean {
    const last = this.epochs.get(bucket);
    if (last !== undefined && last.name !== before) return false;
    const isStillRestored = last?.isRestored === true && !last.isOpen;
    this.epochs.set(bucket, { name, isRestored: isRestored || isStillRestored, isOpen: false });
    return true;
  }

  enter(bucket: string, name: string, gateway: string): boolean {
    if (this.epochs.get(bucket)?.name !== name) return false;
    this.members.set(`${bucket}|${gateway}`, name);
    return true;
  }

  leave(bucket: string, gateways: readonly string[]): void {
    for (const gateway of gateways) this.members.delete(`${bucket}|${gateway}`);
  }

  open(bucket: string, name: string, removable: readonly string[]): boolean {
    const last = this.epochs.get(bucket);
    if (last?.name !== name) return false;
    const others = [...this.read(bucket).members].filter(([, epoch]) => epoch !== name);
    if (others.some(([gateway]) => !removable.includes(gateway))) return false;
    this.leave(
      bucket,
      others.map(([gateway]) => gateway),
    );
    last.isOpen = true;
    return true;
  }

  /** Throws MembershipEnded as `require_members` does. */
  require(entries: readonly StoredEntry[]): void {
    for (const { membership } of entries) {
      if (membership === undefined) continue;
      const [bucket = "", epoch = "", gateway = ""] = membership.split("|");
      if (this.members.get(`${bucket}|${gateway}`) !== epoch) throw new MembershipEnded();
    }
  }

  copy(): EpochBooks {
    const copy = new EpochBooks();
    for (const [bucket, epoch] of this.epochs) copy.epochs.set(bucket, { ...epoch });
    for (const [member, epoch] of this.members) copy.members.set(member, epoch);
    return copy;
  }
}

/** The epochs of a ledger in memory, as a gateway sees them. `ask` may reject or wait, as a network does. */
export function epochsOf(ask: <T>(work: (books: EpochBooks) => T) => Promise<T>): LedgerEpochs {
  return {
    read: (bucket) => ask((books) => books.read(bucket)),
    begin: (...args) => ask((books) => books.begin(...args)),
    enter: (...args) => ask((books) => books.enter(...args)),
    leave: (...args) => ask((books) => books.leave(...args)),
    open: (...args) => ask((books) => books.open(...args)),
  };
}
