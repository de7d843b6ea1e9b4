import t from "tap";
import type { FaultName, StoreKind } from "./fault-names.ts";
import { LuaScripts } from "./redis/lua.ts";
import { simulate } from "./simulate.ts";
import { describePlan, planWorld } from "./world-plan.ts";

interface Focus {
  /** The bug before the fix. */
  readonly name: string;
  readonly store: StoreKind;
  /** Mean time between two faults of a kind, ms. */
  readonly faults: Readonly<Partial<Record<FaultName, number>>>;
  readonly seeds?: number;
  /** The first seed. */
  readonly from?: number;
  readonly gateways?: number;
  /** The number of movements, if more than usual. */
  readonly movements?: number;
}

const SEEDS = 2;

/** Combinations of faults that showed a bug within the first seeds. */
const FOCI: readonly Focus[] = [
  {
    name: "a gateway whose posts wait for the ledger while Redis is silent goes on serving timers",
    store: "redis",
    faults: { ledgerAway: 2_500, redisFreeze: 5_000, freeze: 6_000 },
  },
  {
    name: "posts of a gateway that was silent for a lease are not lost with Redis",
    store: "redis",
    faults: { freeze: 2_500, redisWipe: 12_000, ledgerAway: 6_000 },
    gateways: 3,
    from: 19,
    seeds: 1,
  },
  {
    name: "a clock of Redis that is set back keeps no gateway from starting",
    store: "redis",
    faults: { redisClock: 3_000, redisWipe: 3_000, sigterm: 4_000 },
  },
  {
    name: "a Redis at its maxmemory has room again once posts are committed",
    store: "redis",
    faults: { ledgerAway: 2_000, redisFull: 3_000 },
  },
  {
    name: "a post that the client of a cluster sends twice is committed",
    store: "redis",
    faults: { redisCut: 400, redisLosesReplies: 4_000 },
    seeds: 1,
  },
  {
    name: "a call that got an error is not charged, though Redis took its post",
    store: "redis",
    faults: { diskFull: 1_000, redisLosesReplies: 1_200 },
    seeds: 2,
  },
  {
    name: "a snapshot of Redis from when no gateway ran is not believed",
    store: "redis",
    faults: { sigterm: 3_000, redisOldSnapshot: 3_000 },
  },
  {
    name: "a debit whose gateway dies before the commit is made, or takes nothing",
    store: "redis",
    faults: { kill: 1_500, ledgerSlow: 1_000 },
    movements: 200,
    seeds: 3,
  },
  {
    name: "a debit whose reply is lost is made, or takes nothing",
    store: "redis",
    faults: { redisLosesReplies: 700, kill: 3_000 },
    movements: 200,
    seeds: 2,
    from: 10,
  },
  {
    name: "a movement that the ledger carries out after its gateway has given up is spendable",
    store: "redis",
    faults: { ledgerLosesReplies: 2_500, purseChange: 1_000 },
    movements: 60,
    seeds: 3,
  },
  {
    name: "a rollback leaves entries that cannot be read, and charges each of them once",
    store: "redis",
    faults: { newerVersion: 1_500, redisFreeze: 3_000, redisLosesReplies: 4_000, kill: 4_000 },
    seeds: 3,
  },
  {
    name: "gateways on Redis notice a ledger that was restored from a backup, and one restore is enough",
    store: "redis",
    faults: { ledgerRestored: 9_000 },
  },
  {
    name: "a restore that crashes at any step leaves every gateway closed or right",
    store: "redis",
    faults: { ledgerRestored: 9_000, kill: 5_000, redisCut: 4_000, ledgerLosesReplies: 4_000 },
    seeds: 3,
  },
  {
    name: "a slot of a cluster that moves loses no post of a gateway that dies",
    store: "cluster",
    faults: { slotMoved: 700, kill: 2_500, ledgerAway: 2_500 },
    seeds: 1,
  },
  {
    name: "a cluster whose primaries are replaced serves every account again",
    store: "cluster",
    faults: { redisHandOver: 1_500, redisFailOver: 3_000, redisSplit: 3_000 },
    seeds: 1,
  },
  {
    name: "a gateway with embedded balances notices a ledger that was restored from a backup",
    store: "embedded",
    faults: { ledgerRestored: 9_000 },
  },
  {
    name: "streams are charged though the disk was full when they ended",
    store: "embedded",
    faults: { diskFull: 4_000 },
  },
  {
    name: "a sync that fails loses no post, and the gateway serves again without a restart",
    store: "embedded",
    faults: { diskFailsSyncs: 3_000, powerLoss: 3_000, kill: 4_000, ledgerAway: 3_000 },
    seeds: 3,
  },
  {
    name: "a spool that cannot be synced keeps no gateway from serving",
    store: "redis",
    faults: { diskFailsSyncs: 2_000, redisFreeze: 3_000 },
    seeds: 2,
  },
  {
    name: "a kill and then a loss of power leave a journal that opens",
    store: "embedded",
    faults: { kill: 3_000, powerLoss: 4_000 },
  },
  {
    name: "only posts that no process could sync are lost with the power",
    store: "embedded",
    faults: { kill: 2_000, powerLoss: 2_500, ledgerAway: 2_500 },
  },
];

t.test("a world with few faults", async (t) => {
  const lua = new LuaScripts();
  for (const { name, seeds = SEEDS, from = 1, ...wishes } of FOCI) {
    t.test(name, async (t) => {
      for (let seed = from; seed < from + seeds; seed += 1) {
        const plan = planWorld(seed, wishes);
        const { violations } = await simulate(plan, { lua });
        t.strictSame(violations, [], `seed ${seed}: ${describePlan(plan)}`);
      }
    });
  }
});
