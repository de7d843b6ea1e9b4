import type { OutboxEntry } from "../../contract/hold-store.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import { decodeEntry, entryOf } from "../entry.ts";

/** Parses the entries of an outbox from the reply to `XRANGE`. `post.lua` writes the fields. */
export function readOutbox(bucketName: string, orphan: string, reply: unknown): OutboxEntry[] {
  return listOf(reply).map((item) => {
    const [id, fields] = listOf(item);
    const [, entry, , charged, , writtenOff] = listOf(fields);
    const { entryId, posting, text } = decodeEntry(
      `${bucketName}|${orphan}|${textOf(id)}`,
      textOf(entry),
    );
    return entryOf(entryId, posting, Number(textOf(charged)), Number(textOf(writtenOff)), text);
  });
}
