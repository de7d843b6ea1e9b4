import { type FoundCall, recordOf } from "./found-call.ts";
import type { HoldStore } from "./hold-store.ts";
import type { Ledger } from "./ledger.ts";

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
  return entry && { state: "pending", record: recordOf(entry) };
}
