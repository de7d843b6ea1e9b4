import type { LedgerProgress } from "../../contract/ledger.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { mapOf } from "../../redis/reply.ts";
import { readLua, script } from "../../redis/script.ts";
import type { KeptProgress } from "../ledger-watch.ts";

const SCRIPT = script(readLua("core/money/redis/lua/progress.lua"));

/** The highest progress of the ledger that any gateway saw, in Redis. It belongs to no epoch. */
export class RedisKeptProgress implements KeptProgress {
  private readonly client: RedisCommands;
  private readonly key: string;

  constructor(client: RedisCommands, key: string) {
    this.client = client;
    this.key = key;
  }

  async keep(
    { generation, commits }: LedgerProgress,
    dropped: ReadonlyMap<string, number>,
  ): Promise<LedgerProgress> {
    const counts = [...dropped, ...commits].flat();
    const args = [generation, dropped.size, ...counts].map(String);
    const reply = mapOf(await this.client.run(SCRIPT, [this.key], args));
    const kept = [...reply].filter(([field]) => field !== "generation");
    return {
      generation: Number(reply.get("generation")),
      commits: new Map(kept.map(([writer, count]) => [writer, Number(count)])),
    };
  }
}
