import { createHash } from "node:crypto";
import type { Random } from "../../support/random.ts";
import { WORLD_BEGINS_MS } from "../process.ts";
import type { Scheduler } from "../scheduler.ts";
import { isWrite, needsMemory, RedisData } from "./data.ts";
import type { LuaScripts, RedisReply } from "./lua.ts";

const OOM = "OOM command not allowed when used memory > 'maxmemory'.";
const READ_ONLY = "READONLY You can't write against a read only replica.";
const UNKNOWN_SCRIPT = "NOSCRIPT No matching script.";

interface ServerOptions {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly lua: LuaScripts;
  /** Called with a wallet whose available balance is below zero. */
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
  private readonly options: ServerOptions;
  private primary: ServerProcess;
  private replica: ServerProcess | undefined;
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

  constructor(options: ServerOptions) {
    this.options = options;
    this.primary = this.newProcess();
  }

  get up(): boolean {
    return this.isUp;
  }

  get frozen(): boolean {
    return this.isFrozen;
  }

  start(): void {
    this.isUp = true;
    this.primary = this.newProcess();
  }

  /** The replica replaces a primary that is down, which becomes the replica. */
  promote(): void {
    this.isUp = true;
    this.promotions += 1;
    [this.primary, this.replica] = [this.replica ?? this.newProcess(), this.primary];
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

  /** Throws the error reply of Redis, if a fault demands one. */
  execute(name: string, args: readonly string[]): RedisReply {
    if (name === "EVALSHA" || name === "EVAL") return this.script(name, args);
    return this.command(name, args, { isFull: this.isFull });
  }

  private script(name: string, [first = "", count = "0", ...rest]: readonly string[]): RedisReply {
    const source = name === "EVAL" ? first : this.primary.scripts.get(first);
    if (source === undefined) throw new Error(UNKNOWN_SCRIPT);
    if (name === "EVAL") {
      this.primary.scripts.set(createHash("sha1").update(first).digest("hex"), first);
    }
    const keys = rest.slice(0, Number(count));
    // Refuse only the first write of a script: one that has written already continues.
    const memory = { isFull: this.isFull };
    return this.options.lua.run(source, keys, rest.slice(Number(count)), (command, args) => {
      const reply = this.command(command, args, memory);
      if (isWrite(command)) memory.isFull = false;
      return reply;
    });
  }

  private command(
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
    const reply = this.data.run(name, args, nowMs);
    if (name === "HINCRBY") this.checkBalance(args);
    return reply;
  }

  private checkBalance([key = "", field = ""]: readonly string[]): void {
    if (!field.endsWith(":a")) return;
    const amount = this.data.hash(key).get(field) ?? "";
    if (amount.startsWith("-")) this.options.onBelowZero(key, field, amount);
  }

  private info(section: string | undefined): string {
    if (section === "memory") return "maxmemory_policy:noeviction\r\n";
    return section === "replication"
      ? `master_replid:${this.promotions.toString(16).padStart(40, "0")}\r\n`
      : `run_id:${this.primary.runId}\r\n`;
  }

  private newProcess(): ServerProcess {
    return { runId: this.options.random.bytes(20).toString("hex"), scripts: new Map() };
  }

  private nowMs(): number {
    return Math.floor(WORLD_BEGINS_MS + this.options.scheduler.nowMs + this.clockErrorMs);
  }
}
