import { randomUUID } from "node:crypto";
import type { Clock } from "../process/clock.ts";
import { objectOf, parseJson } from "../process/json.ts";
import type { Log } from "../process/log.ts";
import { PeriodicTask } from "../process/periodic.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import type { PooledKey } from "./key-pool.ts";
import type { Fault } from "./refusals.ts";
import type { ConnectedUpstreams } from "./upstreams.ts";

const PAUSE_MS = 2_000;
/** Rests that ended so long ago are deleted: no clock is so wrong. */
const OVER_MS = 60_000;
/** Without gateways, all of it goes. */
const KEPT_MS = 7_200_000;

/** A rest as a gateway writes it, by its own wall clock. */
interface WrittenRest {
  readonly by: string;
  readonly fault: Fault;
  readonly atMs: number;
  readonly untilMs: number;
}

interface SharedRestsOptions {
  readonly client: { call(name: string, ...args: string[]): Promise<unknown> };
  /** Of the key in Redis. */
  readonly prefix: string;
  /** Those of the config in force. */
  readonly upstreams: () => Pick<ConnectedUpstreams, "all" | "sinceMs">;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Tells the other gateways of one Redis which keys of providers rest, and learns it from them, every 2 seconds: no call
 * reads Redis for it. Shares only what a provider says of the key itself, by the key's id. A gateway whose key
 * has served a call since does not rest it, and each ends its rests by its own probes.
 */
export class SharedRests {
  private readonly options: SharedRestsOptions;
  private readonly id = randomUUID();
  private readonly log: ThrottledLog;
  private readonly task = new PeriodicTask(() => this.round());

  constructor(options: SharedRestsOptions) {
    this.options = options;
    this.log = new ThrottledLog(options.log);
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async round(): Promise<number> {
    try {
      await this.tell();
      await this.learn();
    } catch (error) {
      this.log.warn({ err: error }, "cannot tell other gateways which keys of upstreams rest");
    }
    return PAUSE_MS;
  }

  private async tell(): Promise<void> {
    const { client, clock } = this.options;
    const nowMs = clock.now();
    const fields: string[] = [];
    for (const key of this.keys()) {
      for (const { model, fault, inMs } of key.takeNews(clock.monotonic())) {
        const rest: WrittenRest = { by: this.id, fault, atMs: nowMs, untilMs: nowMs + inMs };
        fields.push(`${key.id} ${model}`, JSON.stringify(rest));
      }
    }
    if (fields.length === 0) return;
    await client.call("HSET", this.name, ...fields);
    await client.call("PEXPIRE", this.name, String(KEPT_MS));
  }

  private async learn(): Promise<void> {
    const { client, clock, upstreams } = this.options;
    const nowMs = clock.now();
    const told = Object.entries(objectOf(await client.call("HGETALL", this.name)) ?? {});
    if (told.length === 0) return;
    const byId = new Map<string, PooledKey[]>();
    for (const key of this.keys()) byId.set(key.id, [...(byId.get(key.id) ?? []), key]);
    const over: string[] = [];
    for (const [field, text] of told) {
      const rest = restIn(String(text));
      if (!rest || rest.untilMs < nowMs - OVER_MS) over.push(field);
      // A reload begins again.
      if (!rest || rest.by === this.id || rest.untilMs <= nowMs || rest.atMs < upstreams().sinceMs)
        continue;
      const [id = "", model = ""] = field.split(" ");
      const { fault, atMs, untilMs } = rest;
      for (const key of byId.get(id) ?? []) {
        key.adopt({ model, fault, inMs: untilMs - nowMs }, nowMs - atMs, clock.monotonic());
      }
    }
    if (over.length > 0) await client.call("HDEL", this.name, ...over);
  }

  /** Without a text there is no key, but an account that this gateway alone may have. */
  private *keys(): Iterable<PooledKey> {
    for (const { keys } of this.options.upstreams().all()) {
      for (const key of keys) if (key.text !== "") yield key;
    }
  }

  private get name(): string {
    return `${this.options.prefix}:upstream-rests`;
  }
}

function restIn(text: string): WrittenRest | undefined {
  const { by, fault, atMs, untilMs } = objectOf(parseJson(text)) ?? {};
  const isSound = typeof by === "string" && typeof atMs === "number" && typeof untilMs === "number";
  return isSound ? { by, fault: fault as Fault, atMs, untilMs } : undefined;
}
