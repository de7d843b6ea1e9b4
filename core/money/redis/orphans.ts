import { failpoint } from "../../process/failpoint.ts";
import { countOf } from "../../process/json.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import { decodeEntry, entryOf } from "../entry.ts";
import type { StoredEntry } from "../outbox-entry.ts";
import type { BucketView } from "./view.ts";

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

/** Claims the orphaned outboxes that no member has claimed, and adds to `claimed` those that this process has. */
export async function claimOrphans(
  view: BucketView,
  process: string,
  claimed: Set<string>,
  ask: (operation: "claim", orphan: string, claimer: string) => Promise<unknown>,
): Promise<void> {
  const members = new Set(view.members.map((member) => member.process));
  for (const [orphan, claimer] of view.orphans) {
    if (claimer === process) claimed.add(orphan);
    else if (!members.has(claimer) && (await ask("claim", orphan, claimer)) === 1) {
      failpoint("lease.claimed");
      claimed.add(orphan);
    }
  }
}
