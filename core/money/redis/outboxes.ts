import { countOf } from "../../process/json.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import { decodeEntry, entryOf } from "../entry.ts";
import type { StoredEntry } from "../outbox-entry.ts";

/**
 * Returns the outbox of an entry: its id without the last part. An id is `bucket|epoch|gateway|id in the outbox`, for
 * example `b07|12-5f0c2b91|<uuid>|1700000000001-0`.
 */
export function outboxOf({ entryId }: StoredEntry): string {
  return entryId.slice(0, entryId.lastIndexOf("|"));
}

/** Parses the entries of an outbox from the reply to `XRANGE`. `post.lua` writes the fields. */
export function readOutbox(bucketName: string, orphan: string, reply: unknown): StoredEntry[] {
  return listOf(reply).map((item) => {
    const [id, fields] = listOf(item);
    const [, text, , charged, , writtenOff] = listOf(fields).map(textOf);
    const entry = decodeEntry(`${bucketName}|${orphan}|${textOf(id)}`, text ?? "");
    const chargedMicroVnd = countOf(Number(charged)) ?? 0;
    if (entry.posting === undefined) return { ...entry, chargedMicroVnd };
    return entryOf(entry.entryId, entry.posting, chargedMicroVnd, Number(writtenOff), entry.text);
  });
}
