import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import { isUnknownScript, RedisAway } from "../../redis/client.ts";
import { type Bucket, NotMember } from "./bucket.ts";

const JOIN_WAIT_MS = 900;
const ATTEMPTS = 3;

/** Does something that only a member of the bucket can, again where it had to be joined first. */
export async function asMember<T>(bucket: Bucket, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    await whenReady(bucket);
    try {
      return await work();
    } catch (error) {
      if (attempt >= ATTEMPTS || !isJoining(error)) throw error;
    }
  }
}

/** Waits for a bucket that is being joined; rejects where Redis is away, or it takes too long. */
export async function whenReady(bucket: Bucket): Promise<void> {
  if (bucket.state === "ready" && bucket.open) return;
  if (bucket.state === "away") throw new RedisAway("away");
  if ((await withTimeout(bucket.whenOpen(), JOIN_WAIT_MS)) === TIMED_OUT)
    throw new NotMember(bucket.name);
}

/** Whether an operation was not done because its bucket must be joined first. */
export function isJoining(error: unknown): boolean {
  return error instanceof NotMember || isUnknownScript(error);
}
