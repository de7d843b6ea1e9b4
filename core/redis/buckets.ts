import { hashOf } from "../process/hash.ts";

/** Never change it: this number and the hash decide which bucket of a cluster has an account's keys. */
export const CLUSTER_BUCKETS = 16;

/** Returns how many buckets a Redis has: its keys are in that many slots. */
export function bucketsOf({ isCluster }: { readonly isCluster: boolean }): number {
  return isCluster ? CLUSTER_BUCKETS : 1;
}

/** Returns the bucket of an id. */
export function bucketIndexOf(id: string, buckets: number): number {
  return (hashOf(id) >>> 0) % buckets;
}

/** Returns the name of a bucket, `b07` for 7: the hash tag of all its keys. */
export function bucketName(index: number): string {
  return `b${String(index).padStart(2, "0")}`;
}
