import type { OutboxEntry } from "../hot.ts";

/** Where an entry is: the outbox of a process in an epoch of a bucket, and its id there. */
export interface Place {
  readonly bucketName: string;
  readonly epoch: string;
  readonly process: string;
  readonly streamId: string;
}

/** Takes an entry id apart: `b07|1700000000000|process|1700000000001-0`. */
export function placeOf(entry: OutboxEntry): Place {
  const [bucketName = "", epoch = "", process = "", streamId = ""] = entry.entryId.split("|");
  return { bucketName, epoch, process, streamId };
}
