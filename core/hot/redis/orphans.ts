import { decodeEntry } from "../entry.ts";
import type { OutboxEntry } from "../hot.ts";
import { listOf, textOf } from "./look.ts";

/** The entries of one outbox, as `XRANGE` answers them: see `post.lua` for the fields. */
export function readOutbox(bucketName: string, orphan: string, reply: unknown): OutboxEntry[] {
  return listOf(reply).map((item) => {
    const [id, fields] = listOf(item);
    const [, entry, , charged, , writtenOff] = listOf(fields);
    return {
      ...decodeEntry(`${bucketName}|${orphan}|${textOf(id)}`, textOf(entry)),
      chargedMicroVnd: Number(textOf(charged)),
      writtenOffMicroVnd: Number(textOf(writtenOff)),
    };
  });
}
