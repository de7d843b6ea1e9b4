import { Waiting } from "../connection.ts";
import type { RedisReply } from "../lua.ts";
import type { SimulatedIoredis } from "./ioredis.ts";
import type { NodeClient } from "./node-client.ts";
import { Redirections } from "./redirections.ts";
import { keysOf, slotOf } from "./slots.ts";

type Result = [error: Error | null, reply: unknown];

/** Commands that ioredis sends again with others that failed: they change nothing. */
const READS = new Set(["GET", "MGET", "HGET", "HMGET", "HGETALL", "HSCAN", "XRANGE", "XLEN"]);
const NOT_ONE_GROUP = "All keys in the pipeline should belong to the same slots allocation group";

/**
 * `Pipeline` of ioredis 6.0.0 in a cluster. It follows a redirection only if all errors have the same text, and no write
 * succeeded. Then it sends all commands again.
 */
export class SimulatedPipeline {
  private readonly cluster: SimulatedIoredis;
  private readonly commands: readonly string[][];
  private readonly redirections = new Redirections();
  /** The node that the last redirection named. */
  private preferred: string | undefined;
  private isAsking = false;

  constructor(cluster: SimulatedIoredis, commands: readonly string[][]) {
    this.cluster = cluster;
    this.commands = commands.map(([name = "", ...args]) => [name.toUpperCase(), ...args]);
  }

  async exec(): Promise<Result[]> {
    const slots = this.commands.flatMap(([name = "", ...args]) => {
      const [key] = keysOf(name, args);
      return key === undefined ? [] : (slotOf(key) ?? []);
    });
    const [slot] = slots;
    if (!this.cluster.isOneGroup(slots)) throw new Error(NOT_ONE_GROUP);
    for (;;) {
      const results = await this.sendAll(slot);
      const error = this.commonError(results);
      const remedy = error && this.redirections.remedyOf(error);
      if (remedy === undefined || remedy.kind === "give up") return results;
      if (remedy.kind === "later") {
        await new Promise<void>((resolve) =>
          this.cluster.after(remedy.ms, remedy.refreshes, resolve),
        );
        continue;
      }
      this.preferred = remedy.address;
      this.isAsking = remedy.kind === "ask";
      if (remedy.kind === "ask") continue;
      this.cluster.moved(remedy.slot, remedy.address, true);
      this.cluster.refresh();
    }
  }

  private sendAll(slot: number | undefined): Promise<Result[]> {
    const { preferred } = this;
    let node: NodeClient | Error | undefined =
      preferred === undefined ? undefined : this.cluster.pooled(preferred);
    const { isAsking } = this;
    this.isAsking = false;
    return Promise.all(
      this.commands.map(
        ([name = "", ...args]) =>
          new Promise<Result>((resolve) => {
            const failed = (error: Error) => resolve([error, undefined]);
            node ??= this.cluster.nodeFor(slot, {});
            if (node instanceof Error) return failed(node);
            const done = (reply: RedisReply) => resolve([null, reply]);
            node.send(new Waiting(name, args, done, failed, isAsking));
          }),
      ),
    );
  }

  /** Returns the error that all failed commands have; undefined if ioredis does not send the commands again. */
  private commonError(results: readonly Result[]): Error | undefined {
    let common: Error | undefined;
    for (const [at, [error]] of results.entries()) {
      const [name = ""] = this.commands[at] ?? [];
      if (error === null && !READS.has(name)) return undefined;
      if (error !== null && common !== undefined && common.message !== error.message)
        return undefined;
      common ??= error ?? undefined;
    }
    return common;
  }
}
