/** A store that a world can keep its holds in. */
export const STORES = ["embedded", "redis", "cluster"] as const;
export type StoreKind = (typeof STORES)[number];

/**
 * The effect of each fault, in worlds with any store. The order decides the plans of all seeds: add new ones to
 * `LATER`.
 */
export const EVERYWHERE = {
  kill: "kill -9 of a gateway",
  sigterm: "SIGTERM of a gateway, which starts again",
  freeze: "stops a gateway for a while, as SIGSTOP does",
  powerLoss: "kills a gateway, and drops what its disk had not synced",
  diskFull: "a disk has little room, then none",
  ledgerAway: "the ledger refuses connections, or hangs",
  ledgerSlow: "requests to the ledger take up to 1.5 s",
  ledgerLosesReplies: "the ledger does its work, and some replies are lost",
  ledgerRestored: "the ledger goes back to a backup, or to what a replica has",
  clockJump: "the clock of a gateway is wrong by up to 10 minutes",
} as const;

/** Faults that can happen only in worlds with Redis. */
export const REDIS = {
  redisKill: "Redis restarts with its data",
  redisWipe: "Redis loses all data",
  redisOldSnapshot: "Redis is restored from an old snapshot",
  redisFreeze: "Redis stops for a while",
  redisCut: "cuts every connection to Redis",
  redisLosesReplies: "Redis does its work, and replies are lost",
  redisFull: "Redis is at its maxmemory",
  redisReadOnly: "Redis is demoted to a replica for a while",
  redisClock: "the clock of Redis is wrong by up to 10 minutes",
} as const;

/** Faults that came later. Each is planned by itself, so that worlds without it stay as they were. */
export const LATER = {
  newerVersion:
    "a gateway runs a newer version for a while, whose entries the other gateways cannot read",
  diskFailsSyncs: "fsync fails with EIO, the kernel drops the pages, and a later fsync succeeds",
  purseChange:
    "a purse begins, has another limit or begins its next period; most calls count against it",
  keyRevoked: "an API key is revoked",
} as const;
export const LATER_REDIS = {
  ledgerCut: "one gateway cannot reach the ledger, and the others can",
  redisFailOver: "a replica of Redis is promoted, which lacks writes that were acknowledged",
  lockedOut: "a gateway stops for longer than a lease, and Redis loses all data in that time",
  leftOut:
    "a gateway cannot reach the ledger for some leases, and Redis loses all data twice in that time",
} as const;

/** Faults that can happen only in worlds with a cluster. */
export const CLUSTER = {
  redisHandOver: "a primary hands its slots over to its replica, and nothing is lost",
  redisSplit: "a primary is cut off, and goes on for a while after its replica has taken over",
  slotMoved: "a slot moves to another primary, key by key",
} as const;

const ALL = { ...EVERYWHERE, ...REDIS, ...LATER, ...LATER_REDIS, ...CLUSTER };
export type FaultName = keyof typeof ALL;
export const FAULTS: Readonly<Record<FaultName, string>> = ALL;

export function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(FAULTS, name);
}

/** Returns the names of a list of faults. */
export function namesOf(list: Readonly<Partial<Record<FaultName, string>>>): FaultName[] {
  return Object.keys(list).filter(isFaultName);
}
