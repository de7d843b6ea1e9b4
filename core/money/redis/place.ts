import type { OutboxEntry } from "../../contract/hold-store.ts";

/**
 * Where an entry is: its id is `b07|1700000000000|process|1700000000001-0`, the bucket, the epoch, the process
 * whose outbox it is in, and its id there. Answers all but the last.
 */
export function outboxOf({ entryId }: OutboxEntry): string {
  return entryId.slice(0, entryId.lastIndexOf("|"));
}
