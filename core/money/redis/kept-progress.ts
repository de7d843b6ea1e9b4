import type { LedgerProgress } from "../../contract/ledger-history.ts";
import { bucketName } from "../../redis/buckets.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { mapOf } from "../../redis/reply.ts";
import { readLua, script } from "../../redis/script.ts";
import type { KeptProgress } from "../ledger-watch.ts";
import type { Bucket } from "./bucket.ts";
import { asReply, NotMember } from "./session.ts";

const SCRIPT = script(readLua("core/money/redis/lua/progress.lua"));

/** The highest progress of the ledger that any gateway saw, in Redis. It is in the first bucket, and belongs to no epoch. */
export class RedisKeptProgress implements KeptProgress {
  private readonly client: RedisCommands;
  private readonly key: string;
  private readonly first: Bucket | undefined;
  /** True once this process has read counts that were not lost before. */
  private isTrusted = false;

  constructor(client: RedisCommands, key: string, first: Bucket | undefined) {
    this.client = client;
    this.key = key;
    this.first = first;
  }

  async keep(
    { generation, commits }: LedgerProgress,
    dropped: ReadonlyMap<string, number>,
  ): Promise<LedgerProgress> {
    const { first, isTrusted } = this;
    if (!isTrusted && first?.state !== "ready") throw new NotMember(bucketName(0));
    const counts = [...dropped, ...commits].flat();
    const args = [generation, dropped.size, ...counts].map(String);
    const reply = mapOf(await this.client.run(SCRIPT, [this.key], args));
    // Shows that Redis had lost no data of the bucket when it replied.
    if (!isTrusted) await first?.run("noop", [], [], asReply);
    this.isTrusted = true;
    const kept = [...reply].filter(([field]) => field !== "generation");
    return {
      generation: Number(reply.get("generation")),
      commits: new Map(kept.map(([writer, count]) => [writer, Number(count)])),
    };
  }
}
