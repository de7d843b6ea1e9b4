import type { LimitSnapshot } from "../../core/money/hold-store.ts";
import type { LimitChange, LimitChangeResult } from "../../core/money/ledger.ts";
import type { OutboxEntry, StoredEntry } from "../../core/money/outbox-entry.ts";
import { callOf } from "../../core/money/unreadable.ts";

interface Limit {
  readonly accountId: string;
  readonly name: string;
  readonly version: number;
  readonly total: bigint;
  /** Charges of the calls in the ledger. */
  readonly charged: bigint;
}

const id = (accountId: string, name: string) => `${accountId}|${name}`;

/** A model of the limits in the ledger. Charges in quarantine lower a limit too; `parked` has them. */
export class LimitBooks {
  private readonly limits = new Map<string, Limit>();
  private readonly changes = new Map<string, LimitChange>();
  private readonly removed = new Set<string>();

  copy(): LimitBooks {
    const copy = new LimitBooks();
    for (const [name, limit] of this.limits) copy.limits.set(name, limit);
    for (const [reference, change] of this.changes) copy.changes.set(reference, change);
    for (const name of this.removed) copy.removed.add(name);
    return copy;
  }

  /** As `change_wallet_limit` and `create_wallet_limit` do. The account exists. */
  change(change: LimitChange, parked: Iterable<StoredEntry>): LimitChangeResult {
    const { accountId, name, kind, reference } = change;
    const key = id(accountId, name);
    const before = this.limits.get(key);
    const done = (limit: Limit, applied: boolean) =>
      ({ kind: "changed", applied, limit: this.snapshot(limit, parked) }) as const;
    if (kind === "create" && before) return done(before, false);
    const earlier = this.changes.get(reference);
    if (earlier && !isSame(earlier, change)) return { kind: "reference_conflict" };
    if (this.removed.has(key)) return { kind: "removed" };
    if (earlier && before) return done(before, false);
    const total = (kind === "add" ? (before?.total ?? 0n) : 0n) + change.amountMicroVnd;
    if (total < 0n) return { kind: "below_zero" };
    const version = (before?.version ?? 0) + 1;
    const limit = { accountId, name, version, total, charged: before?.charged ?? 0n };
    this.limits.set(key, limit);
    this.changes.set(reference, change);
    return done(limit, true);
  }

  remove(accountId: string, name: string): boolean {
    const key = id(accountId, name);
    if (!this.limits.delete(key)) return false;
    this.removed.add(key);
    return true;
  }

  charge({ posting, chargedMicroVnd }: OutboxEntry): void {
    for (const name of posting.limits ?? []) {
      const key = id(posting.accountId, name);
      const limit = this.limits.get(key);
      if (limit === undefined) continue;
      this.limits.set(key, { ...limit, charged: limit.charged + BigInt(chargedMicroVnd) });
    }
  }

  /** Returns the limits of an account. */
  of(accountId: string, parked: Iterable<StoredEntry>): LimitSnapshot[] {
    return [...this.limits.values()]
      .filter((limit) => limit.accountId === accountId)
      .map((limit) => this.snapshot(limit, parked));
  }

  private snapshot(limit: Limit, parked: Iterable<StoredEntry>): LimitSnapshot {
    const { accountId, name, version, total } = limit;
    let left = total - limit.charged;
    for (const entry of parked) {
      const call = callOf(entry);
      if (call.accountId === accountId && call.limits?.includes(name)) {
        left -= BigInt(entry.chargedMicroVnd);
      }
    }
    return { name, version, totalMicroVnd: Number(total), availableMicroVnd: Number(left) };
  }
}

function isSame(one: LimitChange, other: LimitChange): boolean {
  return (["accountId", "name", "kind", "amountMicroVnd"] as const).every(
    (field) => one[field] === other[field],
  );
}
