import type { Random } from "../../../support/random.ts";
import type { Scheduler } from "../../scheduler.ts";
import type { RedisData } from "../data.ts";
import type { RedisReply } from "../lua.ts";
import { RedisServer, type ServerOptions } from "../server.ts";
import { keysOf, slotOf } from "./slots.ts";

const CROSS_SLOT = "CROSSSLOT Keys in request don't hash to the same slot";
const DOWN = "CLUSTERDOWN The cluster is down";
const TRY_AGAIN = "TRYAGAIN Multiple keys request during rehashing of slot";
const NOT_LOCAL = "ERR Script attempted to access a non local key in a cluster node";
/** A replica applies its writes at the latest when it has this many. */
const BACKLOG_MAX = 2_000;
/** Maximum lag of a replica. */
export const LAG_MS_MAX = 1_500;

interface NodeOptions extends ServerOptions {
  /** `host:port`. */
  readonly address: string;
  /** True if this node sees that the cluster does not serve every slot. */
  readonly isDown: (node: ClusterNode) => boolean;
}

interface Write {
  readonly atMs: number;
  readonly apply: (data: RedisData) => void;
}

interface Claim {
  readonly owner: ClusterNode;
  readonly epoch: number;
}

/**
 * One node of a cluster: the primary of some slots, or the replica of another node. It replies to commands as it knows the
 * slots, which may be out of date.
 */
export class ClusterNode extends RedisServer {
  readonly address: string;
  /** The node that it replicates; undefined if it is a primary. */
  primary: ClusterNode | undefined;
  /** The node that replicates it; undefined if none is connected. */
  replica: ClusterNode | undefined;
  /** Slots that are moved from this node, with their next owners. */
  readonly migrating = new Map<number, ClusterNode>();
  /** Slots that are moved to this node. */
  readonly importing = new Set<number>();
  /** True if it reaches no other node of the cluster. */
  isAlone = false;
  /** Hosts of gateways that cannot reach it. */
  readonly cutFrom = new Set<string>();
  /** When it was killed last. */
  killedMs = 0;
  private readonly node: NodeOptions;
  private readonly claims = new Map<number, Claim>();
  private readonly scheduler: Scheduler;
  private readonly random: Random;
  private readonly backlog: Write[] = [];
  private history: string;

  constructor(options: NodeOptions) {
    super(options);
    this.node = options;
    this.address = options.address;
    this.scheduler = options.scheduler;
    this.random = options.random;
    this.history = this.newHistory();
  }

  ownerOf(slot: number): ClusterNode | undefined {
    return this.claims.get(slot)?.owner;
  }

  /** Hears that a node owns a slot since an epoch of the cluster. */
  learn(slot: number, owner: ClusterNode, epoch: number): void {
    if ((this.claims.get(slot)?.epoch ?? -1) < epoch) this.claims.set(slot, { owner, epoch });
  }

  override kill(): void {
    this.killedMs = this.scheduler.nowMs;
    super.kill();
  }

  override isReachedBy(process: string): boolean {
    return !this.cutFrom.has(process.split(".")[0] ?? "");
  }

  /** Becomes a replica of another node, and copies all of its data. */
  follow(primary: ClusterNode): void {
    if (this.primary !== undefined && this.primary.replica === this)
      this.primary.replica = undefined;
    this.primary = primary;
    this.replica = undefined;
    primary.replica = this;
    this.copyAgain();
  }

  /** A replica becomes a primary, with what it was sent until `untilMs`. */
  takeOver(untilMs: number): void {
    this.apply(untilMs);
    this.backlog.length = 0;
    if (this.primary) this.primary.replica = undefined;
    this.primary = undefined;
    this.history = this.newHistory();
  }

  override replace(data: RedisData): void {
    super.replace(data);
    this.replica?.copyAgain();
  }

  /** Moves a key to another node, as `MIGRATE … REPLACE` does. */
  moveKey(key: string, target: ClusterNode): void {
    const put = this.data.take(key);
    put(target.data);
    this.replica?.hear({ atMs: this.scheduler.nowMs, apply: (data) => void data.remove(key) });
    target.replica?.hear({ atMs: this.scheduler.nowMs, apply: put });
  }

  keysIn(slot: number): string[] {
    return this.data.keys().filter((key) => slotOf(key) === slot);
  }

  protected override get replicationId(): string {
    return this.primary?.replicationId ?? this.history;
  }

  protected override refuse(name: string, args: readonly string[], isAsking: boolean): void {
    const refusal = this.refusal(keysOf(name, args), isAsking);
    if (refusal !== undefined) throw new Error(refusal);
  }

  /** A script runs if its declared keys may be used here. Each key that it uses is checked again. */
  protected override refuseInScript(
    name: string,
    args: readonly string[],
    isAsking: boolean,
  ): void {
    if (this.migrating.size === 0 && this.importing.size === 0) return;
    if (this.refusal(keysOf(name, args), isAsking) !== undefined) throw new Error(NOT_LOCAL);
  }

  protected override command(
    name: string,
    args: readonly string[],
    memory: { readonly isFull: boolean },
  ): RedisReply {
    if (name === "CLUSTER") return args[0] === "SLOTS" ? this.slots() : this.state();
    return super.command(name, args, memory);
  }

  protected override wrote(name: string, args: readonly string[], nowMs: number): void {
    const { nowMs: atMs } = this.scheduler;
    this.replica?.hear({ atMs, apply: (data) => void data.run(name, args, nowMs) });
  }

  /** Returns the error reply to a command with these keys; undefined if this node carries it out. */
  private refusal(keys: readonly string[], isAsking: boolean): string | undefined {
    const [first] = keys;
    if (first === undefined) return undefined;
    const slot = slotOf(first);
    if (slot === undefined || keys.some((key) => slotOf(key) !== slot)) return CROSS_SLOT;
    if (this.node.isDown(this)) return DOWN;
    const owner = this.ownerOf(slot);
    const target = this.migrating.get(slot);
    const isImporting = this.importing.has(slot) && isAsking;
    if (target !== undefined || isImporting) {
      const missing = keys.filter((key) => this.data.run("EXISTS", [key], this.nowMs()) === 0);
      if (target !== undefined && missing.length > 0)
        return missing.length < keys.length ? TRY_AGAIN : `ASK ${slot} ${target.address}`;
      if (isImporting) return keys.length > 1 && missing.length > 0 ? TRY_AGAIN : undefined;
    }
    if (owner === this && this.primary === undefined) return undefined;
    const next = owner === this ? this.primary : owner;
    return next === undefined
      ? "CLUSTERDOWN Hash slot not served"
      : `MOVED ${slot} ${next.address}`;
  }

  /** Returns each slot with its owner, and the replica of that, as this node knows them. */
  private slots(): RedisReply {
    return [...this.claims].map(([slot, { owner }]) => {
      const nodes = owner.replica === undefined ? [owner] : [owner, owner.replica];
      return [slot, slot, ...nodes.map(({ address }) => address.split(":"))];
    });
  }

  private state(): string {
    return `cluster_state:${this.node.isDown(this) ? "fail" : "ok"}\r\n`;
  }

  private hear(write: Write): void {
    this.backlog.push(write);
    if (this.backlog.length > BACKLOG_MAX) this.apply(this.scheduler.nowMs - LAG_MS_MAX);
  }

  private apply(untilMs: number): void {
    const later = this.backlog.findIndex(({ atMs }) => atMs > untilMs);
    const count = later < 0 ? this.backlog.length : later;
    for (const { apply } of this.backlog.splice(0, count)) apply(this.data);
  }

  private copyAgain(): void {
    if (this.primary === undefined) return;
    super.replace(this.primary.data.snapshot());
    this.backlog.length = 0;
  }

  private newHistory(): string {
    return this.random.bytes(20).toString("hex");
  }
}
