import type { RedisCommands } from "../../redis/client.ts";
import { mapOf, textOf } from "../../redis/reply.ts";
import { readLua, script } from "../../redis/script.ts";
import { type LedgerProgress, merged, NO_PROGRESS } from "../ledger-history.ts";
import type { KeptProgress } from "../ledger-watch.ts";
import type { Bucket } from "./bucket.ts";

const SCRIPT = script(readLua("core/money/redis/lua/progress.lua"));

/**
 * The highest progress of the ledger that any gateway saw, in Redis. It is in each bucket, since a node that loses it loses
 * the wallets that rest on it too.
 */
export class RedisKeptProgress implements KeptProgress {
  constructor(
    private readonly client: RedisCommands,
    private readonly buckets: readonly Pick<Bucket, "keys" | "state">[],
  ) {}

  /** Rejects if no node replies. */
  async home(ledgerId: string): Promise<string> {
    const asked = this.reached().map(({ keys: { home } }) => this.homeOf(home, ledgerId));
    const homes = (await Promise.allSettled(asked)).flatMap((one) =>
      one.status === "fulfilled" ? [one.value] : [],
    );
    if (homes.length === 0) await asked[0];
    return homes.find((home) => home !== ledgerId) ?? ledgerId;
  }

  private async homeOf(key: string, ledgerId: string): Promise<string> {
    const kept = await this.client.call("HGET", key, "ledger");
    if (kept !== null) return textOf(kept);
    await this.client.call("HSETNX", key, "ledger", ledgerId);
    return textOf(await this.client.call("HGET", key, "ledger"));
  }

  /** A node that is down gets the counts with its next epoch. */
  private reached(): readonly Pick<Bucket, "keys" | "state">[] {
    const reached = this.buckets.filter(({ state }) => state !== "away");
    return reached.length > 0 ? reached : this.buckets;
  }

  /** Rejects if no node replies. Those that do not reply get the counts at the next comparison. */
  async keep(
    progress: LedgerProgress,
    dropped: ReadonlyMap<string, number>,
  ): Promise<LedgerProgress> {
    const kept = this.run(progress, dropped, true);
    const read = (await Promise.allSettled(kept)).flatMap((one) =>
      one.status === "fulfilled" ? [one.value] : [],
    );
    if (read.length === 0) await kept[0];
    return read.reduce(merged, NO_PROGRESS);
  }

  /** Resolves with the first reply: what is sent to a node after this gets there after the counts. */
  async raise(progress: LedgerProgress): Promise<void> {
    await Promise.any(this.run(progress, new Map(), false)).catch(firstOf);
  }

  private run(
    { generation, commits }: LedgerProgress,
    dropped: ReadonlyMap<string, number>,
    isAllWanted: boolean,
  ): Promise<LedgerProgress>[] {
    const counts = [...dropped, ...commits].flat();
    const args = [isAllWanted ? 1 : 0, generation, dropped.size, ...counts].map(String);
    return this.reached().map(async ({ keys: { ledger } }) =>
      progressIn(await this.client.run(SCRIPT, [ledger], args)),
    );
  }
}

/** Throws the first error of `Promise.any`. */
function firstOf(error: unknown): never {
  throw error instanceof AggregateError ? error.errors[0] : error;
}

function progressIn(reply: unknown): LedgerProgress {
  const kept = mapOf(reply);
  const writers = [...kept].filter(([field]) => field !== "generation");
  return {
    generation: Number(kept.get("generation") ?? 0),
    commits: new Map(writers.map(([writer, count]) => [writer, Number(count)])),
  };
}
