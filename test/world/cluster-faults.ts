import type { Random } from "../support/random.ts";
import type { FaultName } from "./fault-names.ts";
import type { Fault } from "./faults.ts";
import type { Cluster } from "./redis/cluster/cluster.ts";
import { type ClusterNode, LAG_MS_MAX } from "./redis/cluster/node.ts";
import type { World } from "./world.ts";

/** Others count a gateway as silent from its last heartbeat, so both are primaries for less than half a lease. */
const BOTH_SHARE_MAX = 0.45;

/** Faults that only a cluster has. A fault that its nodes have no room for does not happen. */
export const clusterFaults: Readonly<Partial<Record<FaultName, Fault>>> = {
  redisHandOver: onPrimary((world, cluster, primary, random) => {
    if (cluster.handOver(primary, random.below(120))) {
      world.note(`redis ${primary.address} hands its slots over`);
    }
  }),
  redisSplit: onPrimary((world, cluster, primary, random) => {
    const hosts = world.hosts.map(({ name }) => name);
    const inside = hosts.filter(() => random.chance(0.4));
    const kind = random.pick(["island", "island", "bus", "frozen"]);
    const plan = {
      hosts,
      island: kind === "island" ? new Set(inside) : undefined,
      isFrozen: kind === "frozen",
      takenOverMs: random.below(3_000),
      bothMs: random.below(world.plan.leaseMs * BOTH_SHARE_MAX),
    };
    if (!cluster.split(primary, lagMs(random), plan)) return;
    const others = kind === "island" ? ` with ${inside.join(" ") || "no gateway"}` : "";
    const { takenOverMs, bothMs } = plan;
    world.note(
      `redis ${primary.address} cut off (${kind}${others}), two after ${takenOverMs} for ${bothMs} ms`,
    );
  }),
  slotMoved: onPrimary((world, cluster, target, random) => {
    const slots = Array.from({ length: world.plan.buckets }, (_, slot) => slot);
    const others = slots.filter((slot) => cluster.ownerOf(slot) !== target);
    if (others.length === 0) return;
    const slot = random.pick(others);
    if (cluster.migrate(slot, target)) world.note(`slot ${slot} moves to ${target.address}`);
  }),
};

/** A primary is killed, and its replica takes over without the last writes. */
export function crash(world: World, primary: ClusterNode, random: Random): void {
  const lostMs = lagMs(random);
  const downMs = random.chance(0.5) ? random.below(300) : random.below(3_000);
  if (!world.redis?.cluster?.crash(primary, lostMs, downMs, random.below(4_000))) return;
  world.note(`redis ${primary.address} crashes, its last ${lostMs} ms are lost`);
}

function lagMs(random: Random): number {
  return random.below(random.chance(0.5) ? 60 : LAG_MS_MAX);
}

function onPrimary(
  work: (world: World, cluster: Cluster, primary: ClusterNode, random: Random) => void,
): Fault {
  return (world, random) => {
    const cluster = world.redis?.cluster;
    const up = cluster?.primaries.filter((node) => node.up) ?? [];
    if (cluster && up.length > 0) work(world, cluster, random.pick(up), random);
  };
}
