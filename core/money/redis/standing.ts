import { idTime } from "../../process/id.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import { type StandingCall, standingHold, standingPost } from "../standing.ts";
import type { Bucket } from "./bucket.ts";
import { readOutbox } from "./commits.ts";

/** Holds per scan. */
const PAGE = "1000";

/** `<µđ>:<process>:<account>`, then its purses: see `hold.lua`. */
const HOLD = /^(\d+):([^:]*):([^|]*)/;

/** Yields the holds of all processes, and the oldest post of each outbox. */
export async function* standingCalls(
  client: RedisCommands,
  buckets: readonly Bucket[],
): AsyncGenerator<StandingCall[]> {
  for (const bucket of buckets) {
    await bucket.whenReady();
    let cursor = "0";
    do {
      const args = [bucket.epochKeys.holds, cursor, "COUNT", PAGE];
      const [next, fields] = listOf(await client.call("HSCAN", ...args));
      cursor = textOf(next);
      yield readHolds(listOf(fields).map(textOf));
    } while (cursor !== "0");
    for (const outbox of await outboxesOf(client, bucket)) {
      yield await oldestPost(client, bucket, outbox);
    }
  }
}

/** Parses call and hold in turn, as `HSCAN` returns them. */
function readHolds(fields: readonly string[]): StandingCall[] {
  const holds: StandingCall[] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const [callId = "", text = ""] = fields.slice(at, at + 2);
    const [, amount, process = "", accountId = ""] = HOLD.exec(text) ?? [];
    if (amount === undefined) continue;
    const sinceMs = idTime(callId);
    const hold = { callId, accountId, microVnd: Number(amount), process };
    holds.push(standingHold({ ...hold, sinceMs: Number.isNaN(sinceMs) ? 0 : sinceMs }));
  }
  return holds;
}

/** Returns the outboxes of a bucket, as `<epoch>|<process>`: of its members, and of gateways that died. */
async function outboxesOf(client: RedisCommands, bucket: Bucket): Promise<string[]> {
  const members = listOf(await client.call("HKEYS", bucket.epochKeys.members)).map(textOf);
  const orphans = listOf(await client.call("HKEYS", bucket.keys.orphans)).map(textOf);
  return [...new Set([...members.map((process) => `${bucket.epoch}|${process}`), ...orphans])];
}

async function oldestPost(
  client: RedisCommands,
  bucket: Bucket,
  outbox: string,
): Promise<StandingCall[]> {
  const [epoch = "", process = ""] = outbox.split("|");
  const key = bucket.keys.outbox(epoch, process);
  const reply = await client.call("XRANGE", key, "-", "+", "COUNT", "1");
  return readOutbox(bucket.name, outbox, reply).map((entry) => {
    // The id of an entry in a stream begins with the time at which Redis added it.
    const added = entry.entryId.slice(entry.entryId.lastIndexOf("|") + 1);
    return standingPost(entry, Number(added.split("-")[0]), process);
  });
}
