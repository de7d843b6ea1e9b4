import type { Balances, LimitBalances } from "../../../core/contract/hold-store.ts";
import { bucketIndexOf, bucketName } from "../../../core/redis/buckets.ts";
import { Random } from "../../support/random.ts";
import type { SimulatedProcess } from "../process.ts";
import type { Scheduler } from "../scheduler.ts";
import { SimulatedRedisClient } from "./client.ts";
import type { RedisData } from "./data.ts";
import type { LuaScripts } from "./lua.ts";
import { RedisServer } from "./server.ts";

/** Prefix of all keys. */
export const PREFIX = "t";
const SNAPSHOTS_MAX = 20;

interface SiteOptions {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly lua: LuaScripts;
  readonly buckets: number;
  /** Its clients send commands without a reply again when their connection has ended. */
  readonly resends: boolean;
  readonly onBelowZero: (what: string) => void;
  /** Called with posted calls that Redis had and lost. */
  readonly onLost: (callIds: readonly string[]) => void;
}

/** The Redis of a world: its server, its snapshots, and a view of its data. */
export class RedisSite {
  readonly server: RedisServer;
  private readonly options: SiteOptions;
  private readonly snapshots: RedisData[] = [];

  constructor(options: SiteOptions) {
    const { scheduler, random, lua, onBelowZero } = options;
    this.options = options;
    this.server = new RedisServer({
      scheduler,
      random,
      lua,
      onBelowZero: (key, field, amount) =>
        onBelowZero(`${field} in ${key} is below zero: ${amount} µđ`),
    });
  }

  clientOf(process: SimulatedProcess): SimulatedRedisClient {
    const { server, options } = this;
    const { scheduler, resends } = options;
    const random = new Random(options.random.below(2 ** 32));
    return new SimulatedRedisClient({ server, process, scheduler, random, resends });
  }

  /** Takes a snapshot, which can be restored later. */
  keepSnapshot(): void {
    this.snapshots.push(this.server.data.snapshot());
    if (this.snapshots.length > SNAPSHOTS_MAX) this.snapshots.shift();
  }

  /** Returns a snapshot: the newest at `age` 0, the oldest at 1. Undefined before the first. */
  snapshot(age: number): RedisData | undefined {
    const at = Math.floor((1 - age) * (this.snapshots.length - 1));
    return this.snapshots[at]?.snapshot();
  }

  /** Replaces the data of the server. Posts that the new data lacks are lost. */
  replace(data: RedisData): void {
    const posted = this.posted(this.server.data);
    const left = new Set(this.posted(data));
    this.server.data = data;
    this.options.onLost(posted.filter((callId) => !left.has(callId)));
  }

  /** Returns the balances of a wallet; undefined if it is not loaded. */
  balancesOf(accountId: string): Balances | undefined {
    const part = this.partsOf(accountId);
    if (!part("a")) return undefined;
    return {
      availableMicroVnd: Number(part("a")),
      heldMicroVnd: Number(part("h")),
      uncommittedMicroVnd: Number(part("p")),
    };
  }

  /** Returns the balances of a limit; undefined if it is not set. */
  limitOf(accountId: string, name: string): LimitBalances | undefined {
    const part = this.partsOf(accountId, `|${name}`);
    if (!part("la")) return undefined;
    return {
      totalMicroVnd: Number(part("lt")),
      availableMicroVnd: Number(part("la")),
      heldMicroVnd: Number(part("lh")),
      uncommittedMicroVnd: Number(part("lp")),
    };
  }

  /** Returns a function that reads a part of a wallet or of a limit. */
  private partsOf(accountId: string, limit = ""): (part: string) => string | undefined {
    const { data } = this.server;
    const base = `${PREFIX}:{${bucketName(bucketIndexOf(accountId, this.options.buckets))}}:`;
    const wallets = data.hash(`${base}${data.text(`${base}epoch`) ?? ""}:w`);
    return (part) => wallets.get(`${accountId}${limit}:${part}`);
  }

  private posted(data: RedisData): string[] {
    return data.keys().flatMap((key) => /:d:(.+)$/.exec(key)?.[1] ?? []);
  }
}
