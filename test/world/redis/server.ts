import { createHash } from "node:crypto";
import type { Random } from "../../support/random.ts";
import { WORLD_BEGINS_MS } from "../process.ts";
import type { Scheduler } from "../scheduler.ts";
import { isWrite, needsMemory, RedisData } from "./data.ts";
import type { LuaScripts, RedisReply } from "./lua.ts";

const OOM = "OOM command not allowed when used memory > 'maxmemory'.";
const READ_ONLY = "READONLY You can't write against a read only replica.";
const UNKNOWN_SCRIPT = "NOSCRIPT No matching script. Please use EVAL.";

export interface ServerOptions {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly lua: LuaScripts;
  /** Called with a wallet whose available balance is below zero, and with a purse that a hold took below its limit. */
  readonly onBelowZero: (key: string, field: string, amount: string) => void;
}

/** The state of a server process that is not replicated. */
interface ServerProcess {
  readonly runId: string;
  /** Scripts by their SHA-1. A primary that becomes a replica keeps them. */
  readonly scripts: Map<string, string>;
}

/** One Redis: its primary, and perhaps a replica. It outlives its processes: `start` begins a new one. */
export class RedisServer {
  data = new RedisData();
  private running: ServerProcess;
  private standby: ServerProcess | undefined;
  private readonly closers = new Set<() => void>();
  private readonly putOff: (() => void)[] = [];
  private isUp = true;
  private isFrozen = false;
  /** Its `maxmemory`, in uncommitted posts; the policy is `noeviction`. */
  postsMax = Number.POSITIVE_INFINITY;
  /** True if it was demoted to a replica. */
  isReadOnly = false;
  /** True if its replies are lost on the way. */
  losesReplies = false;
  clockErrorMs = 0;
  private promotions = 0;

  constructor(private readonly options: ServerOptions) {
    this.running = this.newProcess();
  }

  get up(): boolean {
    return this.isUp;
  }

  get frozen(): boolean {
    return this.isFrozen;
  }

  start(): void {
    this.isUp = true;
    this.running = this.newProcess();
  }

  /** The replica replaces a primary that is down, which becomes the replica. */
  promote(): void {
    this.isUp = true;
    this.promotions += 1;
    [this.running, this.standby] = [this.standby ?? this.newProcess(), this.running];
  }

  kill(): void {
    this.isUp = false;
    this.thaw();
    this.cut();
  }

  private get isFull(): boolean {
    return this.postsMax < Number.POSITIVE_INFINITY && this.data.streamEntries >= this.postsMax;
  }

  /** Closes every connection. */
  cut(): void {
    for (const close of [...this.closers]) close();
  }

  freeze(): void {
    this.isFrozen = true;
  }

  thaw(): void {
    this.isFrozen = false;
    for (const work of this.putOff.splice(0)) work();
  }

  /** Adds a connection. Calls `close` when the server ends it. Returns a function that removes it. */
  accept(close: () => void): () => void {
    this.closers.add(close);
    return () => this.closers.delete(close);
  }

  /** Queues `work` for the server. */
  serve(work: () => void): void {
    if (!this.isUp) return;
    if (this.isFrozen) this.putOff.push(work);
    else work();
  }

  /** Returns false if the network between a process and this server is cut. */
  isReachedBy(_process: string): boolean {
    return true;
  }

  /** Replaces all data, as a restart from another file does. */
  replace(data: RedisData): void {
    this.data = data;
  }

  /** Throws the error reply of Redis, if a fault demands one. `isAsking`: see `ClusterNode`. */
  execute(name: string, args: readonly string[], isAsking = false): RedisReply {
    this.refuse(name, args, isAsking);
    if (name === "EVALSHA" || name === "EVAL") return this.script(name, args, isAsking);
    return this.command(name, args, { isFull: this.isFull });
  }

  /** Throws the error reply to a command that this server does not carry out. */
  protected refuse(_name: string, _args: readonly string[], _isAsking: boolean): void {}

  /** The same for a command of a script. */
  protected refuseInScript(_name: string, _args: readonly string[], _isAsking: boolean): void {}

  /** Called after each write. */
  protected wrote(_name: string, _args: readonly string[], _nowMs: number): void {}

  private script(
    name: string,
    [first = "", count = "0", ...rest]: readonly string[],
    isAsking: boolean,
  ): RedisReply {
    const source = name === "EVAL" ? first : this.running.scripts.get(first);
    if (source === undefined) throw new Error(UNKNOWN_SCRIPT);
    if (name === "EVAL") {
      this.running.scripts.set(createHash("sha1").update(first).digest("hex"), first);
    }
    const keys = rest.slice(0, Number(count));
    // Refuse only the first write of a script: one that has written already continues.
    const memory = { isFull: this.isFull };
    return this.options.lua.run(source, keys, rest.slice(Number(count)), (command, args) => {
      this.refuseInScript(command, args, isAsking);
      const reply = this.command(command, args, memory);
      if (isWrite(command)) memory.isFull = false;
      return reply;
    });
  }

  protected command(
    name: string,
    args: readonly string[],
    memory: { readonly isFull: boolean },
  ): RedisReply {
    const nowMs = this.nowMs();
    if (name === "TIME")
      return [String(Math.floor(nowMs / 1_000)), String((nowMs % 1_000) * 1_000)];
    if (name === "INFO") return this.info(args[0]);
    if (isWrite(name) && this.isReadOnly) throw new Error(READ_ONLY);
    if (needsMemory(name) && memory.isFull) throw new Error(OOM);
    const isHold = name === "HSET" && args[0]?.endsWith(":holds");
    const held = isHold ? this.data.hash(args[0] ?? "").get(args[1] ?? "") : undefined;
    const reply = this.data.run(name, args, nowMs);
    if (isHold) this.checkPurses(args, held);
    if (isWrite(name)) this.wrote(name, args, nowMs);
    if (name === "HINCRBY") this.checkBalance(args);
    return reply;
  }

  private checkBalance([key = "", field = ""]: readonly string[]): void {
    // A purse is below zero.
    if (!field.endsWith(":a") || field.includes("|")) return;
    const amount = this.data.hash(key).get(field) ?? "";
    if (amount.startsWith("-")) this.options.onBelowZero(key, field, amount);
  }

  /** A hold that was taken or raised leaves its purses within their limits: see `hold.lua`. */
  private checkPurses([key = "", , hold = ""]: readonly string[], before = "0"): void {
    if (Number.parseInt(hold, 10) <= Number.parseInt(before, 10)) return;
    const [head = "", ...purses] = hold.split("|");
    const wallets = this.data.hash(key.replace(/holds$/, "w"));
    for (const purse of purses) {
      const [name = "", limit] = purse.split("=");
      const field = `${head.split(":")[2]}|${name}`;
      const left = Number(limit) + Number(wallets.get(`${field}:a`));
      if (!(left >= 0)) this.options.onBelowZero(key, field, String(left));
    }
  }

  private info(section: string | undefined): string {
    return section === "replication"
      ? `master_replid:${this.replicationId}\r\n`
      : `run_id:${this.running.runId}\r\n`;
  }

  /** The id of the history of its data: a promotion makes a new one. */
  protected get replicationId(): string {
    return this.promotions.toString(16).padStart(40, "0");
  }

  private newProcess(): ServerProcess {
    return { runId: this.options.random.bytes(20).toString("hex"), scripts: new Map() };
  }

  protected nowMs(): number {
    return Math.floor(WORLD_BEGINS_MS + this.options.scheduler.nowMs + this.clockErrorMs);
  }
}
