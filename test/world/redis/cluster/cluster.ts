import type { Random } from "../../../support/random.ts";
import type { Scheduler } from "../../scheduler.ts";
import type { RedisData } from "../data.ts";
import type { ServerOptions } from "../server.ts";
import { Migration } from "./migration.ts";
import { ClusterNode } from "./node.ts";

const PRIMARIES = 3;
/** Maximum time until a node learns of a change. */
const GOSSIP_MS_MAX = 300;
/** `cluster-node-timeout`: after this time without an owner of a slot, and without the others, a node serves no slot. */
const NODE_TIMEOUT_MS = 1_000;

interface ClusterOptions extends ServerOptions {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly slots: number;
  /** Called when a node loses its data, with the data that replaces it. */
  readonly onLost: (before: RedisData, after: RedisData) => void;
  /** Called with a replica that is the primary now. */
  readonly onTakenOver: (node: ClusterNode) => void;
}

/** How a primary is cut off, while a replica takes its slots over. */
export interface Split {
  /** Hosts of gateways that reach only this primary, and no other node. Undefined if every gateway reaches all nodes. */
  readonly island: ReadonlySet<string> | undefined;
  readonly hosts: readonly string[];
  /** The old primary does nothing until it is back, and then serves what waits before it learns of the change. */
  readonly isFrozen: boolean;
  readonly takenOverMs: number;
  /** How long both are primaries. */
  readonly bothMs: number;
}

/** A cluster of three primaries with a replica each: who owns which slot, and how that changes. */
export class Cluster {
  readonly nodes: readonly ClusterNode[];
  private readonly scheduler: Scheduler;
  private readonly random: Random;
  private readonly owners = new Map<number, ClusterNode>();
  private readonly epochs = new Map<number, number>();
  /** Primaries that were replaced and do not know it yet, with their successors. */
  private readonly replaced = new Map<ClusterNode, ClusterNode>();
  private readonly migrations = new Set<Migration>();
  /** Primaries that have stopped until their replicas have everything. */
  private readonly handingOver = new Set<ClusterNode>();
  private epoch = 0;

  constructor(private readonly options: ClusterOptions) {
    const { scheduler, random, slots } = options;
    this.scheduler = scheduler;
    this.random = random;
    this.nodes = Array.from({ length: 2 * PRIMARIES }, (_, at) => this.newNode(`n${at + 1}:6379`));
    const primaries = this.nodes.slice(0, PRIMARIES);
    for (const [at, primary] of primaries.entries()) this.nodes[PRIMARIES + at]?.follow(primary);
    for (let slot = 0; slot < slots; slot += 1) {
      const owner = primaries[slot % PRIMARIES];
      if (owner === undefined) continue;
      this.own(slot, owner);
      for (const node of this.nodes) this.tell(node);
    }
  }

  /** The primaries, without those that were replaced and do not know it yet. */
  get primaries(): readonly ClusterNode[] {
    return this.nodes.filter((node) => node.primary === undefined && !this.replaced.has(node));
  }

  ownerOf(slot: number): ClusterNode {
    const owner = this.owners.get(slot);
    if (owner === undefined) throw new Error(`no node owns slot ${slot}`);
    return owner;
  }

  slotsOf(node: ClusterNode): number[] {
    return [...this.owners].flatMap(([slot, owner]) => (owner === node ? [slot] : []));
  }

  /** Returns the slots that move to or from a node, with the node at the other end. */
  movingWith(node: ClusterNode): { readonly slot: number; readonly other: ClusterNode }[] {
    return [...this.migrations].flatMap((each) => {
      const other = each.otherThan(node);
      return other === undefined ? [] : [{ slot: each.slot, other }];
    });
  }

  /** A node starts again, and learns what has changed. */
  start(node: ClusterNode): void {
    if (!node.up) node.start();
    if (!node.isAlone) this.tell(node);
  }

  /** A primary is killed, and its replica takes over without the last `lagMs`. Returns false if it has none. */
  crash(primary: ClusterNode, lagMs: number, downMs: number, restartMs: number): boolean {
    const { replica } = primary;
    if (replica === undefined || this.isBusy(primary)) return false;
    const untilMs = this.scheduler.nowMs - lagMs;
    primary.kill();
    this.later(downMs, "replica takes over", () => {
      if (primary.up || primary.replica !== replica) return;
      this.takeOver(primary, replica, untilMs);
    });
    this.later(downMs + restartMs, "node starts", () => this.start(primary));
    return true;
  }

  /** A primary stops until its replica has everything, and hands its slots over. Nothing is lost. */
  handOver(primary: ClusterNode, ms: number): boolean {
    const { replica } = primary;
    if (replica === undefined || primary.frozen || this.isBusy(primary)) return false;
    primary.freeze();
    this.handingOver.add(primary);
    this.later(ms, "replica takes over", () => {
      this.handingOver.delete(primary);
      if (primary.up && primary.replica === replica) {
        this.takeOver(primary, replica, this.scheduler.nowMs);
        this.replaced.delete(primary);
        primary.follow(replica);
        this.tell(primary);
      }
      primary.thaw();
    });
    return true;
  }

  /** A primary is cut off, and goes on as one for a while after its replica has taken over. */
  split(primary: ClusterNode, lagMs: number, plan: Split): boolean {
    const { replica } = primary;
    if (replica === undefined || primary.frozen || this.isBusy(primary)) return false;
    const untilMs = this.scheduler.nowMs - lagMs;
    primary.isAlone = true;
    primary.replica = undefined;
    for (const host of plan.island === undefined ? [] : plan.hosts) {
      const isInside = plan.island?.has(host) === true;
      for (const node of this.nodes) if ((node === primary) !== isInside) node.cutFrom.add(host);
    }
    if (plan.isFrozen) primary.freeze();
    this.later(plan.takenOverMs, "replica takes over", () => {
      if (!primary.isAlone || replica.primary !== primary) return;
      this.takeOver(primary, replica, untilMs);
    });
    this.later(plan.takenOverMs + plan.bothMs, "partition ends", () => {
      if (plan.isFrozen) primary.thaw();
      this.join(primary);
    });
    return true;
  }

  /** Moves a slot to another primary, key by key. Returns false if one of them is busy. */
  migrate(slot: number, target: ClusterNode): boolean {
    const source = this.ownerOf(slot);
    if (source === target || !this.canMigrate(source) || !this.canMigrate(target)) return false;
    const { scheduler, random } = this;
    const migration: Migration = new Migration({ slot, source, target, scheduler, random }, () => {
      this.migrations.delete(migration);
      target.importing.delete(slot);
      this.own(slot, target);
      // Until it learns of that, the source sends clients to the target for each key.
      this.later(this.random.below(GOSSIP_MS_MAX), "source hears", () => {
        source.migrating.delete(slot);
        this.tell(source);
      });
      this.spread();
    });
    this.migrations.add(migration);
    migration.begin();
    return true;
  }

  /** Ends every fault. */
  heal(): void {
    for (const node of this.nodes) this.start(node);
    for (const node of this.nodes) if (node.isAlone) this.join(node);
    for (const migration of [...this.migrations]) migration.finish();
    for (const node of this.nodes) this.tell(node);
  }

  private takeOver(primary: ClusterNode, replica: ClusterNode, untilMs: number): void {
    this.replaced.set(primary, replica);
    replica.takeOver(untilMs);
    for (const slot of this.slotsOf(primary)) this.own(slot, replica);
    this.options.onTakenOver(replica);
    this.spread();
  }

  private own(slot: number, owner: ClusterNode): void {
    this.epoch += 1;
    this.owners.set(slot, owner);
    this.epochs.set(slot, this.epoch);
    owner.learn(slot, owner, this.epoch);
  }

  /** Every node learns the owners after a while. */
  private spread(): void {
    for (const node of this.nodes) {
      this.later(this.random.below(GOSSIP_MS_MAX), "node hears", () => {
        if (node.up && !node.isAlone) this.tell(node);
      });
    }
  }

  /** A node learns who owns the slots. A primary that was replaced becomes a replica, and loses what only it has. */
  private tell(node: ClusterNode): void {
    for (const [slot, owner] of this.owners) node.learn(slot, owner, this.epochs.get(slot) ?? 0);
    const next = this.replaced.get(node);
    if (next === undefined) return;
    this.replaced.delete(node);
    const before = node.data;
    node.follow(next);
    this.options.onLost(before, next.data);
  }

  /** A primary that was cut off is back. */
  private join(node: ClusterNode): void {
    if (!node.isAlone) return;
    node.isAlone = false;
    for (const each of this.nodes) each.cutFrom.clear();
    const replica = this.nodes.find(({ primary }) => primary === node);
    replica?.follow(node);
    if (node.up) this.tell(node);
  }

  private canMigrate(node: ClusterNode): boolean {
    return node.primary === undefined && !this.handingOver.has(node) && !this.isBusy(node);
  }

  /** Returns true for a node that must not take part in another change now. */
  private isBusy(node: ClusterNode): boolean {
    const isMoving = [...this.migrations].some((each) => each.isOf(node));
    return isMoving || node.isAlone || this.replaced.has(node) || !node.up;
  }

  private isDown(): boolean {
    const { nowMs } = this.scheduler;
    return [...new Set(this.owners.values())].some(
      (owner) => !owner.up && nowMs - owner.killedMs > NODE_TIMEOUT_MS,
    );
  }

  private newNode(address: string): ClusterNode {
    const isDown = () => this.isDown();
    return new ClusterNode({ ...this.options, address, isDown });
  }

  private later(ms: number, label: string, work: () => void): void {
    this.scheduler.after(ms, `redis ${label}`, work);
  }
}
