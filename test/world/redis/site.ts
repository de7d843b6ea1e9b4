import type { Balances } from "../../../core/money/hold-store.ts";
import { walletKey } from "../../../core/money/purse.ts";
import { bucketIndexOf, bucketName } from "../../../core/redis/buckets.ts";
import type { RedisCommands } from "../../../core/redis/client.ts";
import { Random } from "../../support/random.ts";
import type { SimulatedProcess } from "../process.ts";
import type { Scheduler } from "../scheduler.ts";
import { SimulatedRedisClient } from "./client.ts";
import { SimulatedClusterClient } from "./cluster/client.ts";
import { Cluster } from "./cluster/cluster.ts";
import { ClusterNode } from "./cluster/node.ts";
import { slotOf } from "./cluster/slots.ts";
import type { RedisData } from "./data.ts";
import type { LuaScripts } from "./lua.ts";
import { RedisServer } from "./server.ts";

/** Prefix of all keys. */
export const PREFIX = "t";
const SNAPSHOTS_MAX = 20;

interface SiteOptions {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly lua: LuaScripts;
  readonly buckets: number;
  readonly isCluster: boolean;
  /** Its clients send commands without a reply again when their connection has ended. */
  readonly resends: boolean;
  readonly onBelowZero: (what: string) => void;
  /** Called with posted calls that Redis had and lost. */
  readonly onLost: (callIds: readonly string[]) => void;
}

/** The Redis of a world, one server or a cluster, its snapshots, and a view of its data. */
export class RedisSite {
  /** Undefined if it is one server. */
  readonly cluster: Cluster | undefined;
  private readonly single: RedisServer;
  private readonly snapshots = new Map<RedisServer, RedisData[]>();
  /** Outboxes that no gateway can find: what named them is lost. */
  private readonly nameless = new Set<string>();

  constructor(private readonly options: SiteOptions) {
    const { scheduler, random, lua, buckets, onBelowZero } = options;
    const server = {
      scheduler,
      random,
      lua,
      onBelowZero: (key: string, field: string, amount: string) =>
        onBelowZero(`${field} in ${key} is below zero: ${amount} µđ`),
    };
    this.single = new RedisServer(server);
    if (!options.isCluster) return;
    const onLost = (before: RedisData, after: RedisData) => this.lost(before, after);
    const onTakenOver = (node: ClusterNode) => this.takenOver(node);
    this.cluster = new Cluster({ ...server, slots: buckets, onLost, onTakenOver });
  }

  /** The servers that accept writes. */
  get primaries(): readonly RedisServer[] {
    return this.cluster?.primaries ?? [this.single];
  }

  get servers(): readonly RedisServer[] {
    return this.cluster?.nodes ?? [this.single];
  }

  /** Number of entries in all outboxes, which are uncommitted posts. */
  get streamEntries(): number {
    return this.primaries.reduce((sum, server) => {
      // A replica that takes over may still have keys of a slot that has moved away. No client reaches them.
      const keys = server.data
        .keys()
        .filter((key) => !this.isForeign(key, server) && !this.nameless.has(key));
      return sum + entriesOf(server.data, keys).length;
    }, 0);
  }

  /** Returns true if the result of a posted call is kept. */
  hasPost(callId: string): boolean {
    return this.primaries.some(({ data }) =>
      data.keys().some((key) => key.endsWith(`:d:${callId}`)),
    );
  }

  /** Returns the ids of gateways whose leases were ended in an epoch. */
  endedLeases(): string[] {
    return this.primaries.flatMap(({ data }) => {
      const keys = data.keys().filter((key) => key.endsWith(":reaped"));
      return keys.flatMap((key) => [...data.members(key)]);
    });
  }

  clientOf(process: SimulatedProcess): RedisCommands {
    const { single: server, cluster, options } = this;
    const { scheduler, resends } = options;
    const random = new Random(options.random.below(2 ** 32));
    if (cluster) return new SimulatedClusterClient({ cluster, process, scheduler, random });
    return new SimulatedRedisClient({ server, process, scheduler, random, resends });
  }

  start(server: RedisServer): void {
    if (server instanceof ClusterNode) this.cluster?.start(server);
    else server.start();
  }

  /** Ends every fault. */
  heal(): void {
    for (const server of this.servers) {
      server.isReadOnly = false;
      server.losesReplies = false;
      server.thaw();
      if (!server.up) this.start(server);
    }
    this.cluster?.heal();
  }

  /** Takes a snapshot, which can be restored later. */
  keepSnapshot(server: RedisServer): void {
    const kept = this.snapshots.get(server) ?? [];
    this.snapshots.set(server, kept);
    kept.push(server.data.snapshot());
    if (kept.length > SNAPSHOTS_MAX) kept.shift();
  }

  /** Returns a snapshot: the newest at `age` 0, the oldest at 1. Undefined before the first. */
  snapshot(server: RedisServer, age: number): RedisData | undefined {
    const kept = this.snapshots.get(server) ?? [];
    return kept[Math.floor((1 - age) * (kept.length - 1))]?.snapshot();
  }

  /** Replaces the data of a server. Posts that the new data lacks are lost. */
  replace(server: RedisServer, data: RedisData): void {
    const before = server.data;
    // A node keeps no slot that it does not own any more.
    for (const key of data.keys()) if (this.isForeign(key, server)) data.remove(key);
    server.replace(data);
    this.lost(before, data);
    if (server instanceof ClusterNode) this.loseNames(server);
  }

  /** Returns the balances of a wallet or a purse; undefined if it is not loaded. */
  balancesOf(accountId: string, purse?: string): Balances | undefined {
    const part = this.partsOf(accountId, purse);
    if (!part("a")) return undefined;
    return {
      availableMicroVnd: Number(part("a")),
      heldMicroVnd: Number(part("h")),
      uncommittedMicroVnd: Number(part("p")),
    };
  }

  /** Returns the epoch of an account's bucket; "" if it has none. */
  epochOf(accountId: string): string {
    const { data, base } = this.bucketOf(accountId);
    return data.text(`${base}epoch`) ?? "";
  }

  private bucketOf(accountId: string): { readonly data: RedisData; readonly base: string } {
    const index = bucketIndexOf(accountId, this.options.buckets);
    const { data } = this.cluster?.ownerOf(index) ?? this.single;
    return { data, base: `${PREFIX}:{${bucketName(index)}}:` };
  }

  /** Returns a function that reads a part of a wallet or of a purse. */
  private partsOf(accountId: string, purse?: string): (part: string) => string | undefined {
    const { data, base } = this.bucketOf(accountId);
    const wallets = data.hash(`${base}${this.epochOf(accountId)}:w`);
    return (part) => wallets.get(`${walletKey(accountId, purse)}:${part}`);
  }

  private isForeign(key: string, server: RedisServer): boolean {
    return this.cluster !== undefined && this.cluster.ownerOf(slotOf(key) ?? -1) !== server;
  }

  /**
   * A slot that moves has some keys at each node. If one of them loses its data, outboxes at the other may have no name; so
   * may those of a snapshot that was taken while a slot moved.
   */
  private loseNames(server: ClusterNode): void {
    const moving = new Map(
      this.cluster?.movingWith(server).map(({ slot, other }) => [slot, other]),
    );
    for (const slot of new Set([...(this.cluster?.slotsOf(server) ?? []), ...moving.keys()])) {
      const other = moving.get(slot);
      const nodes = other ? [server, other] : [server];
      const naming = nodes.map(({ data }) => data);
      for (const node of nodes) this.findNameless(slot, node, naming);
    }
  }

  /** A slot had just moved to the old primary, and its replica may lack the last keys. */
  private takenOver(node: ClusterNode): void {
    for (const slot of this.cluster?.slotsOf(node) ?? []) {
      this.findNameless(slot, node, [node.data]);
    }
  }

  private findNameless(slot: number, node: ClusterNode, naming: readonly RedisData[]): void {
    const base = `${PREFIX}:{${bucketName(slot)}}:`;
    const keys = node
      .keysIn(slot)
      .filter((key) => key.includes(":o:") && !isNamed(naming, base, key));
    if (keys.length === 0) return;
    for (const key of keys) this.nameless.add(key);
    this.options.onLost(uncommittedIn(node.data, keys));
  }

  private lost(before: RedisData, after: RedisData): void {
    // While a slot moves, the result of a call and its entry may be at different nodes.
    const lost = [posted, uncommitted].flatMap((callsOf) => {
      const left = new Set(callsOf(after));
      return callsOf(before).filter((callId) => !left.has(callId));
    });
    this.options.onLost(lost);
  }
}

/** Returns the calls whose results are kept. */
function posted(data: RedisData): string[] {
  return data.keys().flatMap((key) => /:d:(.+)$/.exec(key)?.[1] ?? []);
}

/** Returns true if a key of a bucket is an outbox that some of its data name: of the present epoch, or an orphan. */
function isNamed(data: readonly RedisData[], base: string, key: string): boolean {
  const [epoch = "", process = ""] = key.slice(base.length).split(":o:");
  const isListed = (list: string, name: string) =>
    data.some((each) => each.hash(`${base}${list}`).has(name));
  const isPresent = data.some((each) => each.text(`${base}epoch`) === epoch);
  return (
    isListed("orphans", `${epoch}|${process}`) || (isPresent && isListed(`${epoch}:procs`, process))
  );
}

/** Returns the calls in outboxes. */
function uncommitted(data: RedisData): string[] {
  return uncommittedIn(data, data.keys());
}

function uncommittedIn(data: RedisData, keys: readonly string[]): string[] {
  const entries = entriesOf(data, keys);
  return entries.flatMap((fields) => /"call_id":"([^"]+)"/.exec(fields.join())?.[1] ?? []);
}

function entriesOf(data: RedisData, keys: readonly string[]): readonly (readonly string[])[] {
  return keys.flatMap((key) => [...(data.stream(key)?.entries.values() ?? [])]);
}
