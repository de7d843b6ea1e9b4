import { setTimeout as delay } from "node:timers/promises";
import { arrayOf } from "../../../core/process/json.ts";
import { bucketName, CLUSTER_BUCKETS } from "../../../core/redis/buckets.ts";
import { asked, type RedisNode, roleOf } from "../redis-stage.ts";
import { type Fault, type Ground, oneOf, type Strike } from "./fault.ts";

const MOVED_AT_ONCE = 4;
const KEYS_AT_ONCE = "10";
const ROLE_MS_MAX = 10_000;
/** A move that cannot be finished for this long is ended at the node that owns the slot. */
const FINISH_MS_MAX = 15_000;
/** A slot that is left between two nodes stays refused, so this is nearly as long as a run waits in its end. */
const HEAL_MS_MAX = 100_000;
const POLL_MS = 50;
/** Time until all nodes know who owns a slot. */
const GOSSIP_MS = 2_000;

/** Loses nothing: the primary stops until its replica has everything. */
const FAIL_OVER: Fault = {
  name: "fail over as planned",
  weight: 4,
  modes: ["cluster"],
  async aim(ground) {
    const { redis } = ground.stage;
    const primaries = await redis.primaries();
    const replica = oneOf(
      ground,
      redis.nodes.filter((node) => !primaries.includes(node)),
    );
    const [role, , port, link] = (replica && (await roleOf(replica))) ?? [];
    const primary = redis.announced(Number(port));
    if (!replica || !primary || role !== "slave" || link !== "connected") return undefined;
    return {
      victims: [replica, primary],
      describe: () => `${replica.name} takes over from ${primary.name}`,
      async begin() {
        await replica.server.call("CLUSTER", "FAILOVER");
        const deadline = performance.now() + ROLE_MS_MAX;
        while ((await roleOf(replica))?.[0] !== "master") {
          if (performance.now() > deadline) throw new Error(`${replica.name} did not take over`);
          await delay(POLL_MS);
        }
      },
      lastsMs: GOSSIP_MS,
      heal: async () => {},
    };
  },
};

const MIGRATE: Fault = {
  name: "migrate slots under load",
  weight: 3,
  modes: ["cluster"],
  async aim(ground) {
    const primaries = await ground.stage.redis.primaries();
    const source = oneOf(ground, primaries);
    const target = oneOf(
      ground,
      primaries.filter((node) => node !== source),
    );
    return source && target && migration(ground, primaries, source, target);
  },
};

export const CLUSTER_FAULTS = [FAIL_OVER, MIGRATE];

function migration(
  ground: Ground,
  primaries: readonly RedisNode[],
  source: RedisNode,
  target: RedisNode,
): Strike {
  const slots: string[] = [];
  let moved = 0;
  const moveNext = async () => {
    const slot = slots[moved]!;
    const [from, to] = [await idOf(source), await idOf(target)];
    await target.server.call("CLUSTER", "SETSLOT", slot, "IMPORTING", from);
    await source.server.call("CLUSTER", "SETSLOT", slot, "MIGRATING", to);
    await moveKeys(ground, slot, source, target);
    await target.server.call("CLUSTER", "SETSLOT", slot, "NODE", to);
    await source.server.call("CLUSTER", "SETSLOT", slot, "NODE", to);
    for (const node of primaries) await asked(node, "CLUSTER", "SETSLOT", slot, "NODE", to);
    moved += 1;
  };
  return {
    victims: [source, target],
    describe: () => `slots ${slots.join(", ")} from ${source.name} to ${target.name}`,
    async begin() {
      const owned = await ownedBuckets(source);
      while (slots.length < MOVED_AT_ONCE && owned.length > 1) {
        slots.push(...owned.splice(ground.random.below(owned.length), 1));
      }
      while (moved < slots.length) await moveNext();
    },
    lastsMs: GOSSIP_MS,
    /** A slot that has keys at both nodes is refused to every client until it is moved. */
    async heal() {
      const began = performance.now();
      while (moved < slots.length) {
        const isLate = performance.now() > began + FINISH_MS_MAX;
        const next = isLate ? settleSlot(ground, slots[moved]!).then(() => moved++) : moveNext();
        await next.catch(async (error: unknown) => {
          if (performance.now() > began + HEAL_MS_MAX) throw error;
          await delay(POLL_MS);
        });
      }
    },
  };
}

/**
 * Ends a move that a fail-over has broken: a node may then know no owner of the slot, and refuse every command. Does what
 * an operator does with `redis-cli --cluster fix`: all keys of the slot go to its owner, and every primary learns who
 * that is.
 */
export async function settleSlot(ground: Ground, slot: string): Promise<void> {
  const primaries = await ground.stage.redis.primaries();
  const owners = await Promise.all(
    primaries.map(async (node) => (isOwned(await rangesOf(node), slot) ? [node] : [])),
  );
  const [owner = primaries[0]] = owners.flat();
  if (owner === undefined) throw new Error("no primary runs");
  const id = await idOf(owner);
  const tellAll = async () => {
    for (const node of primaries) {
      await node.server.call("CLUSTER", "SETSLOT", slot, "STABLE");
      await node.server.call("CLUSTER", "SETSLOT", slot, "NODE", id);
    }
  };
  // First: a node that knows no owner moves no keys.
  await tellAll();
  for (const node of primaries.filter((each) => each !== owner)) {
    if (Number(await node.server.call("CLUSTER", "COUNTKEYSINSLOT", slot)) === 0) continue;
    // Keys can leave a node that does not own their slot only while it takes the slot over.
    await node.server.call("CLUSTER", "SETSLOT", slot, "IMPORTING", id);
    await moveKeys(ground, slot, node, owner);
  }
  await tellAll();
}

/** Calls run while some keys of the slot are at one node, and some at the other. */
async function moveKeys(
  { random }: Ground,
  slot: string,
  source: RedisNode,
  target: RedisNode,
): Promise<void> {
  for (;;) {
    const found = await source.server.call("CLUSTER", "GETKEYSINSLOT", slot, KEYS_AT_ONCE);
    const keys = arrayOf(found).map(String);
    if (keys.length === 0) return;
    const to = ["127.0.0.1", `${target.server.port}`, "", "0", "5000"];
    await source.server.call("MIGRATE", ...to, "KEYS", ...keys);
    await delay(random.below(20));
  }
}

/** Slots of the buckets that a node owns. */
async function ownedBuckets(node: RedisNode): Promise<string[]> {
  const ranges = await rangesOf(node);
  const slots = await Promise.all(
    Array.from({ length: CLUSTER_BUCKETS }, (_, at) =>
      node.server.call("CLUSTER", "KEYSLOT", `{${bucketName(at)}}`),
    ),
  );
  return slots.map(String).filter((slot) => isOwned(ranges, slot));
}

type Ranges = readonly (readonly number[])[];

/** The slots that a node says it owns, as ranges. */
async function rangesOf(node: RedisNode): Promise<Ranges> {
  const text = String(await node.server.call("CLUSTER", "NODES"));
  const mine = /^.*\bmyself\b.*$/m.exec(text)?.[0] ?? "";
  // `0-5460`, `5462`, or `[93-<-ID]` for a slot that moves.
  return mine
    .split(" ")
    .slice(8)
    .map((part) => part.split("-").map(Number));
}

function isOwned(ranges: Ranges, slot: string): boolean {
  const number = Number(slot);
  return ranges.some(([from = Number.NaN, to = from]) => number >= from && number <= to);
}

async function idOf(node: RedisNode): Promise<string> {
  return String(await node.server.call("CLUSTER", "MYID"));
}
