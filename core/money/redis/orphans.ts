import type { StoredEntry } from "../../contract/outbox-entry.ts";
import { countOf } from "../../process/json.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import { decodeEntry, entryOf } from "../entry.ts";

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
