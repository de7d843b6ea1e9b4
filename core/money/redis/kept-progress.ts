import type { LedgerProgress } from "../../contract/ledger-history.ts";
import { bucketName } from "../../redis/buckets.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { listOf, mapOf, textOf } from "../../redis/reply.ts";
import { readLua, script } from "../../redis/script.ts";
import type { KeptProgress } from "../ledger-watch.ts";
import type { Bucket } from "./bucket.ts";
import { editionKey, progressKey } from "./keys.ts";
import { asReply, NotMember } from "./session.ts";

const SCRIPT = script(readLua("core/money/redis/lua/progress.lua"));
/** The part of an edition that says when its counts began. */
const SINCE = /^\d+/;

/**
 * The highest progress of the ledger that any gateway saw, in Redis. It is in the first bucket, and belongs to no epoch.
 * Each change of the counts makes a later **edition** of them. The wallets of every bucket remember the edition that they
 * rest on, since the node of the first bucket may lose counts that the wallets at other nodes need.
 */
export class RedisKeptProgress implements KeptProgress {
  private readonly client: RedisCommands;
  private readonly prefix: string;
  /** The first bucket; a function, because buckets need this class too. */
  private readonly first: () => Bucket | undefined;
  /** True once this process has read counts that were not lost before. */
  private isTrusted = false;
  private latest = "";

  constructor(client: RedisCommands, prefix: string, first: () => Bucket | undefined) {
    this.client = client;
    this.prefix = prefix;
    this.first = first;
  }

  /** The latest edition that this process knows, with all of its counts; "" before the first. */
  get edition(): string {
    return this.latest;
  }

  async keep(
    { generation, commits }: LedgerProgress,
    dropped: ReadonlyMap<string, number>,
  ): Promise<LedgerProgress> {
    const counts = [...dropped, ...commits].flat();
    const args = [this.latest, ...[generation, dropped.size, ...counts].map(String)];
    const keys = [progressKey(this.prefix), editionKey(this.prefix)];
    const keep = () => this.client.run(SCRIPT, keys, args);
    const [edition, reply] = listOf(await (this.isTrusted ? keep() : this.whole(keep)));
    this.isTrusted = true;
    this.latest = textOf(edition);
    const kept = mapOf(reply);
    const writers = [...kept].filter(([field]) => field !== "generation");
    return {
      generation: Number(kept.get("generation")),
      commits: new Map(writers.map(([writer, count]) => [writer, Number(count)])),
    };
  }

  /**
   * Returns true if Redis still has the counts that the wallets of a bucket rest on. Call it after their edition was read,
   * as it may rise. Rejects while this is not known. `edition`: "" if the wallets rest on none.
   */
  async covers(bucket: Bucket, edition: string): Promise<boolean> {
    // Wallets of the first bucket are lost together with the counts.
    if (edition === "" || bucket === this.first()) return true;
    const reply = await this.whole(() => this.client.call("GET", editionKey(this.prefix)));
    const kept = textOf(reply ?? "");
    return SINCE.exec(kept)?.[0] === SINCE.exec(edition)?.[0] && edition <= kept;
  }

  /** Reads from the first bucket. Rejects if it may have lost data that this process has not missed yet. */
  private async whole<T>(read: () => Promise<T>): Promise<T> {
    const first = this.first();
    if (first?.state !== "ready") throw new NotMember(bucketName(0));
    const reply = await read();
    // Shows that Redis had lost no data of the bucket when it replied.
    await first.run("noop", [], [], asReply);
    return reply;
  }
}
