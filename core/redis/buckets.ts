/** Fixed for good: an account's keys are where this number and the hash say. */
export const BUCKETS = 64;

/** FNV-1a: spreads ids evenly, and is the same in every process and version. */
export function bucketIndexOf(id: string, buckets: number = BUCKETS): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0) % buckets;
}

/** `7` -> `b07`, which is the hash tag of all keys of the bucket. */
export function bucketName(index: number): string {
  return `b${String(index).padStart(2, "0")}`;
}
