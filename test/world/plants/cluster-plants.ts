import type { Plant } from "./plants.ts";

/** Bugs that only a world with a cluster reveals. */
export const CLUSTER_PLANTS: Readonly<Record<string, Plant>> = {
  "a slot of which only some keys have moved looks like a loss of data": {
    file: "core/money/redis/membership.ts",
    find: "const { ofMembers } = this.bucket.keys;",
    replace: "const ofMembers = [this.bucket.keys.epoch];",
    store: "cluster",
    faults: { slotMoved: 700, kill: 2_500, ledgerAway: 2_500 },
    from: 4,
  },
  "a fail-over of a cluster that lost posts is not noticed": {
    file: "core/money/redis/judgement.ts",
    find: 'view.operations >= operationsSeen ? "member" : "lost"',
    replace: '"member"',
    store: "cluster",
    faults: { redisFailOver: 1_500, redisSplit: 2_500, ledgerAway: 4_000 },
  },
  "wallets at other nodes outlive the counts of the ledger": {
    file: "core/money/redis/kept-progress.ts",
    find: "!(isSame && edition <= kept)",
    replace: "false",
    store: "cluster",
    faults: { ledgerRestored: 3_000, redisWipe: 1_500, kill: 4_000 },
    from: 19,
  },
  "wallets at other nodes outlive counts of the ledger that went back": {
    file: "core/money/redis/kept-progress.ts",
    find: "edition <= kept",
    replace: "kept !== ''",
    store: "cluster",
    faults: { ledgerRestored: 2_000, redisOldSnapshot: 1_500, kill: 1_500 },
    from: 57,
  },
};
