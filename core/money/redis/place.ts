import type { StoredEntry } from "../outbox-entry.ts";

/**
 * Returns the outbox of an entry: its id without the last part. An id is `bucket|epoch|process|id in the outbox`, for
 * example `b07|1700000000000|<uuid>|1700000000001-0`.
 */
export function outboxOf({ entryId }: StoredEntry): string {
  return entryId.slice(0, entryId.lastIndexOf("|"));
}
