import { crc32 } from "node:zlib";
import { Random } from "../support/random.ts";
import {
  CLUSTER,
  EVERYWHERE,
  FAULTS,
  type FaultName,
  LATER,
  LATER_REDIS,
  namesOf,
  REDIS,
  type StoreKind,
} from "./fault-names.ts";

/** The plan of one seed. Each world has only some of the faults, so that the seeds together cover many combinations. */
export interface WorldPlan {
  readonly seed: number;
  readonly store: StoreKind;
  readonly gateways: number;
  readonly buckets: number;
  /**
   * Clients of Redis send commands without a reply again when their connection has ended. `RedisClient` does not: this
   * is harder.
   */
  readonly resends: boolean;
  readonly accounts: number;
  readonly calls: number;
  readonly loadMs: number;
  /** Silence after which other gateways end the leases of a gateway, ms. */
  readonly leaseMs: number;
  readonly movements: number;
  /** Maximum money of a wallet at the start, in tokens. */
  readonly walletTokens: number;
  readonly whenExhausted: "cut" | "finish";
  /** Share of calls that fail even without a fault. */
  readonly trouble: number;
  readonly outboxEntriesMax: number;
  /** Wallets are closed after less than a second without a call. A load heals what is wrong with a wallet, so not always. */
  readonly closesWallets: boolean;
  /** Mean time between two faults of a kind, ms. A fault that is missing never happens. */
  readonly faults: ReadonlyMap<FaultName, number>;
}

interface PlanWishes {
  readonly store?: StoreKind | undefined;
  /** With Redis only. */
  readonly gateways?: number | undefined;
  readonly calls?: number | undefined;
  readonly movements?: number | undefined;
  readonly closesWallets?: boolean | undefined;
  /** Only these faults. */
  readonly faults?: Readonly<Partial<Record<FaultName, number>>> | undefined;
}

export function planWorld(seed: number, wishes: PlanWishes = {}): WorldPlan {
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995);
  const store = wishes.store ?? (random.chance(0.3) ? "embedded" : redisOf(seed));
  const loadMs = 8_000 + random.below(30_000);
  const isCalm = random.chance(0.05);
  const share = 0.15 + 0.5 * random.fraction();
  const faults = new Map<FaultName, number>();
  const add = (name: FaultName, from: Random) => {
    const isOn = from.chance(share);
    const everyMs = 1_500 + from.below(30_000);
    if (isOn && !isCalm) faults.set(name, everyMs);
  };
  const isRedis = store !== "embedded";
  const isCluster = store === "cluster";
  for (const name of namesOf(EVERYWHERE)) add(name, random);
  if (isRedis) for (const name of namesOf(REDIS)) add(name, random);
  const later = [...namesOf(LATER), ...(isRedis ? namesOf(LATER_REDIS) : [])];
  if (isCluster) later.push(...namesOf(CLUSTER));
  // A replica of a cluster redirects instead.
  if (isCluster) faults.delete("redisReadOnly");
  for (const name of later) add(name, new Random(seed + crc32(name)));
  const gateways = isRedis ? 1 + random.below(3) : 1;
  const buckets = random.pick([1, 1, 2, 3]);
  const closesWallets =
    wishes.faults === undefined && new Random(seed + crc32("closesWallets")).chance(0.4);
  return {
    seed,
    store,
    gateways: isRedis ? (wishes.gateways ?? gateways) : 1,
    buckets: isCluster ? new Random(seed + crc32("buckets")).pick([2, 3, 4, 6]) : buckets,
    resends: random.chance(0.3),
    accounts: 1 + random.below(6),
    calls: wishes.calls ?? 200 + random.below(200),
    loadMs,
    leaseMs: random.pick([4_000, 4_000, 10_000]),
    movements: wishes.movements ?? random.below(24),
    walletTokens: random.pick([200, 2_000, 20_000]),
    whenExhausted: random.chance(0.8) ? "cut" : "finish",
    trouble: random.pick([0, 0.1, 0.4]),
    outboxEntriesMax: random.pick([30, 100_000]),
    closesWallets: wishes.closesWallets ?? closesWallets,
    faults: wishes.faults ? wishedFaults(wishes.faults) : faults,
  };
}

/** One Redis world in four has a cluster. */
function redisOf(seed: number): StoreKind {
  return new Random(seed + crc32("cluster")).chance(0.25) ? "cluster" : "redis";
}

function wishedFaults(wished: Readonly<Partial<Record<FaultName, number>>>): WorldPlan["faults"] {
  return new Map(
    namesOf(FAULTS).flatMap((name) => {
      const everyMs = wished[name];
      return everyMs === undefined ? [] : [[name, everyMs]];
    }),
  );
}

/** Describes a plan: `redis, 3 gateways, 312 calls in 31 s, faults: kill ledgerAway`. */
export function describePlan(plan: WorldPlan): string {
  const faults = [...plan.faults].map(
    ([name, everyMs]) => `${name} ${(everyMs / 1_000).toFixed(1)}s`,
  );
  return (
    `${plan.store}, ${plan.gateways} gateways, ${plan.buckets} buckets, ${plan.accounts} accounts, ` +
    `${plan.calls} calls in ${(plan.loadMs / 1_000).toFixed(1)} s, ` +
    `${plan.closesWallets ? "idle wallets are closed, " : ""}` +
    `faults: ${faults.join(", ") || "none"}`
  );
}
