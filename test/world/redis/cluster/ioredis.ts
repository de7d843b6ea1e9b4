import { backoffMs } from "../../../../core/process/backoff.ts";
import type { ClusterCommands } from "../../../../core/redis/client.ts";
import { listOf } from "../../../../core/redis/reply.ts";
import type { Random } from "../../../support/random.ts";
import type { SimulatedProcess } from "../../process.ts";
import type { Scheduler } from "../../scheduler.ts";
import { RECONNECT_MS_MAX, RECONNECT_MS_MIN } from "../client.ts";
import { CLOSED, Waiting } from "../connection.ts";
import type { Cluster } from "./cluster.ts";
import { askOnce, NodeClient } from "./node-client.ts";
import { Redirections } from "./redirections.ts";
import { keysOf, slotOf } from "./slots.ts";

/** `slotsRefreshInterval` in `core/redis/client.ts`. */
const REFRESH_MS = 2_000;
const NOT_READY = "Cluster isn't ready and enableOfflineQueue options is false";

interface IoredisOptions {
  readonly cluster: Cluster;
  readonly process: SimulatedProcess;
  readonly scheduler: Scheduler;
  readonly random: Random;
}

/** Which node a command goes to, if not the one that the table of slots names. */
export interface Route {
  /** Sent to this one, with `ASKING`. */
  readonly asked?: string;
  /** Sent to any primary. */
  readonly isRandom?: boolean;
}

/** `Cluster` of ioredis 6.0.0 with the options of `core/redis/client.ts`, as far as they matter for the order of things. */
export class SimulatedIoredis implements ClusterCommands {
  status: "connecting" | "ready" | "reconnecting" | "end" = "reconnecting";
  /** The addresses that serve a slot, the primary first. */
  private readonly slots = new Map<number, readonly string[]>();
  private readonly pool = new Map<string, NodeClient>();
  private readonly afterRefresh: (() => void)[] = [];
  private onReady: () => void = () => {};
  private isRefreshing = false;
  private failures = 0;

  constructor(private readonly options: IoredisOptions) {}

  connect(onReady: () => void): void {
    this.onReady = onReady;
    void this.tryToConnect();
  }

  disconnect(): void {
    this.status = "end";
    this.keep([]);
  }

  call(name: string, ...args: string[]): Promise<unknown> {
    const command = name.toUpperCase();
    return new Promise((resolve, reject) => {
      const [key = ""] = keysOf(command, args);
      const redirections = new Redirections();
      const send = (route: Route) => {
        const node = this.nodeFor(slotOf(key), route);
        if (node instanceof Error) return reject(node);
        const isAsking = route.asked !== undefined;
        node.send(new Waiting(command, args, resolve, failed, isAsking));
      };
      const failed = (error: Error) => {
        const remedy = redirections.remedyOf(error);
        if (remedy.kind === "give up") return reject(remedy.error);
        if (remedy.kind === "later") {
          return this.after(remedy.ms, remedy.refreshes, () => send({ isRandom: true }));
        }
        this.find(remedy.address, false);
        if (remedy.kind === "ask") return send({ asked: remedy.address });
        this.moved(remedy.slot, remedy.address);
        send({});
        this.refresh();
      };
      send({});
    });
  }

  /** Commands are written one by one here. */
  nodes(): [] {
    return [];
  }

  /** Returns the connection for a slot, or the error that ioredis rejects a command with. */
  private nodeFor(slot: number | undefined, { asked, isRandom }: Route): NodeClient | Error {
    if (this.status !== "ready") return new Error(NOT_READY);
    const [owner] = (slot === undefined ? undefined : this.slots.get(slot)) ?? [];
    const address = asked ?? (isRandom ? undefined : owner);
    const found = address === undefined ? undefined : this.pool.get(address);
    const node = found ?? this.anyNode();
    if (node === undefined) return new Error(NOT_READY);
    return node.status === "ready" || node.status === "wait" ? node : new Error(CLOSED);
  }

  /** Notes that a slot is at another node. */
  private moved(slot: number, address: string): void {
    const [, ...replicas] = this.slots.get(slot) ?? [];
    this.slots.set(slot, [address, ...replicas]);
  }

  /** Runs `work` later, perhaps after a look at the table of slots. */
  private after(ms: number, refreshes: boolean, work: () => void): void {
    this.options.process.after(ms, () => {
      if (refreshes) this.refresh(work);
      else work();
    });
  }

  /** Reads the table of slots from one node after another, until one replies. */
  private refresh(done?: () => void): void {
    if (done) this.afterRefresh.push(done);
    if (this.isRefreshing) return;
    this.isRefreshing = true;
    void this.readSlots().finally(() => {
      this.isRefreshing = false;
      for (const each of this.afterRefresh.splice(0)) each();
    });
  }

  private async tryToConnect(): Promise<void> {
    const { cluster, random } = this.options;
    this.status = "connecting";
    // The config names the first primaries.
    const first = cluster.nodes.slice(0, cluster.nodes.length / 2);
    this.keep(first.map(({ address }) => ({ address, isReplica: false })));
    if (!(await this.readSlots())) return this.again();
    const primaries = [...this.pool.values()].filter(({ isReplica }) => !isReplica);
    if (primaries.length === 0 || this.isEnded()) return this.again();
    const node = random.pick(primaries);
    const state = await new Promise((resolve) => {
      node.send(new Waiting("CLUSTER", ["INFO"], resolve, () => resolve("")));
    });
    if (!String(state).includes("cluster_state:ok") || this.isEnded()) return this.again();
    this.status = "ready";
    this.failures = 0;
    this.onReady();
    this.refreshLater();
  }

  /** Closes all, and connects again after a while. */
  private again(): void {
    if (this.isEnded()) return;
    this.status = "reconnecting";
    this.keep([]);
    this.failures += 1;
    const ms = backoffMs(this.failures, RECONNECT_MS_MIN, RECONNECT_MS_MAX);
    this.options.process.after(ms, () => {
      if (!this.isEnded()) void this.tryToConnect();
    });
  }

  private refreshLater(): void {
    this.options.process.after(REFRESH_MS, () => {
      if (this.status === "ready") this.refresh(() => this.refreshLater());
    });
  }

  private async readSlots(): Promise<boolean> {
    const left = [...this.pool.keys()];
    while (left.length > 0) {
      const [address = ""] = left.splice(this.options.random.below(left.length), 1);
      const reply = await askOnce(this.lineTo(address), "CLUSTER", ["SLOTS"]);
      if (this.status !== "ready" && this.status !== "connecting") return false;
      if (!Array.isArray(reply)) continue;
      const nodes = new Map<string, boolean>();
      for (const row of listOf(reply)) {
        const [slot, , ...hosts] = listOf(row);
        const addresses = hosts.map((host) => listOf(host).join(":"));
        this.slots.set(Number(slot), addresses);
        for (const [at, each] of addresses.entries()) {
          nodes.set(each, at > 0 && nodes.get(each) !== false);
        }
      }
      this.keep([...nodes].map(([each, isReplica]) => ({ address: each, isReplica })));
      return true;
    }
    return false;
  }

  /** Makes the pool have these nodes and no others. */
  private keep(nodes: readonly { readonly address: string; readonly isReplica: boolean }[]): void {
    const wanted = new Map(nodes.map((node) => [node.address, node]));
    for (const [address, node] of this.pool) if (!wanted.has(address)) node.end();
    for (const { address, isReplica } of nodes) this.find(address, isReplica).isReplica = isReplica;
  }

  private find(address: string, isReplica: boolean): NodeClient {
    const found = this.pool.get(address);
    if (found) return found;
    const node = new NodeClient(address, isReplica, this.lineTo(address), () => {
      if (this.pool.get(address) === node) this.pool.delete(address);
      if (this.pool.size === 0 && this.status === "ready") this.again();
    });
    this.pool.set(address, node);
    return node;
  }

  private anyNode(): NodeClient | undefined {
    const all = [...this.pool.values()];
    const primaries = all.filter(({ isReplica }) => !isReplica);
    const from = primaries.length > 0 ? primaries : all;
    return from.length > 0 ? this.options.random.pick(from) : undefined;
  }

  private lineTo(address: string) {
    const { cluster, process, scheduler, random } = this.options;
    const server = cluster.nodes.find((node) => node.address === address);
    if (server === undefined) throw new Error(`there is no node ${address}`);
    return { server, process, scheduler, random };
  }

  private isEnded(): boolean {
    return this.status === "end";
  }
}
