import type { HoldStore } from "./hold-store.ts";
import type { Ledger } from "./ledger.ts";
import type { OutboxEntry } from "./outbox-entry.ts";
import { filledIn } from "./tariff.ts";
import { type UsageRecord, usageFieldList } from "./usage-fields.ts";

/** Returns the record of a posted call, committed or not. Undefined if neither the ledger nor this process has it. */
export async function findCall(
  holdStore: HoldStore,
  ledger: Ledger,
  callId: string,
): Promise<FoundCall | undefined> {
  // The order matters: an entry is in the ledger or in quarantine before it leaves the outbox.
  const entry = holdStore.findUncommitted(callId);
  const record = await ledger.call(callId);
  if (record) return { state: "recorded", record };
  const quarantined = await ledger.quarantinedCall(callId);
  if (quarantined?.entry.posting) {
    return {
      state: "quarantined",
      record: recordOf(quarantined.entry),
      reason: quarantined.reason,
    };
  }
  return entry?.posting && { state: "pending", record: recordOf(entry) };
}

/** A posted call, before or after it reaches the ledger. */
export interface FoundCall {
  /**
   * `recorded`: in the ledger. `pending`: posted, not in the ledger yet. `quarantined`: refused by
   * the ledger; an operator must look at it.
   */
  readonly state: "recorded" | "pending" | "quarantined";
  readonly record: UsageRecord;
  /** Why the ledger refused it; only with `quarantined`. */
  readonly reason?: string;
}

/** Returns the usage record that an outbox entry becomes. */
export function recordOf({ posting, chargedMicroVnd, writtenOffMicroVnd }: OutboxEntry) {
  const values = { ...posting, chargedMicroVnd, writtenOffMicroVnd };
  const record = usageFieldList.map(({ name, kind }) => {
    const value = values[name];
    if (value === null) return [name, null];
    if (kind === "money") return [name, BigInt(Number(value))];
    return [name, kind === "time" ? new Date(Number(value)) : value];
  });
  return filledIn(Object.fromEntries(record) as UsageRecord);
}
