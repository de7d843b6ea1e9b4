import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LedgerLookup } from "../../../../core/money/redis/ledger-lookup.ts";
import type { MembershipTimes } from "../../../../core/money/redis/membership-options.ts";
import { membersScript } from "../../../../core/money/redis/scripts.ts";
import { RedisHoldStore } from "../../../../core/money/redis/store.ts";
import { readView } from "../../../../core/money/redis/view.ts";
import type { Log } from "../../../../core/process/log.ts";
import { type Machine, systemMachine } from "../../../../core/process/machine.ts";
import { bucketName } from "../../../../core/redis/buckets.ts";
import { RedisClient, type RedisCommands } from "../../../../core/redis/client.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { recordedLog } from "../../../support/log.ts";

/** Fewer than in production, so that a start takes milliseconds. */
export const BUCKETS = 4;
/** Longer than in production: on a busy machine 500 calls at once wait for more than 450 ms. */
const REPLY_TIMEOUT_MS = 10_000;
/** On a busy machine a process may wait some 100 ms now and then. */
const TIMING: Partial<MembershipTimes> = { heartbeatMs: 20, leaseMs: 1_000, graceMs: 0 };

export interface StoreOptions {
  readonly servers: string | readonly string[];
  readonly prefix?: string;
  /** Its own temporary folder by default. */
  readonly spoolFolder?: string;
  readonly spoolBytesMax?: number;
  readonly machine?: Machine;
  readonly ledger?: LedgerLookup;
  readonly times?: Partial<MembershipTimes>;
  readonly outboxEntriesMax?: number;
  readonly log?: Log;
  readonly client?: RedisCommands;
  readonly beforeStart?: (store: RedisHoldStore) => void;
}

/** A hold store in this process that can crash like a process. */
export interface TestStore {
  readonly store: RedisHoldStore;
  readonly prefix: string;
  readonly spoolFolder: string;
  /** Closes its connection and stops, which looks like a kill -9 to Redis. */
  die(): Promise<void>;
  /** Stops properly and deletes its spool. */
  dispose(): Promise<void>;
}

/** An empty ledger, for tests in which the store never reads it. */
export const EMPTY_LEDGER: LedgerLookup = {
  wallet: () => Promise.resolve(undefined),
  hasCall: () => Promise.resolve(false),
  credited: () => Promise.resolve(undefined),
  history: new MemoryHistory(),
};

export async function startStore(options: StoreOptions): Promise<TestStore> {
  const prefix = options.prefix ?? `test-${randomUUID()}`;
  const spoolFolder = options.spoolFolder ?? newFolder();
  const client = options.client ?? clientOf(options.servers);
  const log = options.log ?? recordedLog().log;
  const { machine = systemMachine } = options;
  const store = new RedisHoldStore({
    client,
    prefix,
    buckets: BUCKETS,
    times: { ...TIMING, ...options.times },
    spool: { folder: spoolFolder, bytesMax: options.spoolBytesMax ?? 10_000_000, log, machine },
    outboxEntriesMax: options.outboxEntriesMax ?? 100_000,
    ledger: options.ledger ?? EMPTY_LEDGER,
    log,
  });
  options.beforeStart?.(store);
  await store.start();
  return {
    store,
    prefix,
    spoolFolder,
    async die() {
      client.disconnect();
      await store.stop();
    },
    async dispose() {
      await store.stop();
      remove(spoolFolder);
    },
  };
}

/** The spools of stores that died: the next store of a test may open one, so they stay until its process ends. */
const folders: string[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-spool-"));
  if (folders.length === 0) process.once("exit", () => folders.forEach(remove));
  folders.push(folder);
  return folder;
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

export function clientOf(servers: string | readonly string[]): RedisClient {
  return new RedisClient(servers, REPLY_TIMEOUT_MS);
}

/** Resolves once the client is connected. The caller must disconnect it. */
export async function connectedClient(servers: string | readonly string[]): Promise<RedisClient> {
  const client = clientOf(servers);
  await new Promise<void>((resolve) => client.connect(resolve));
  return client;
}

/** Ends the leases of every process, as time would. */
export async function endLeases(
  servers: string | readonly string[],
  prefix: string,
): Promise<void> {
  const client = await connectedClient(servers);
  for (let index = 0; index < BUCKETS; index += 1) {
    const keys = [`${prefix}:{${bucketName(index)}}:epoch`];
    const ask = (...args: string[]) => client.run(membersScript, keys, args);
    const reply = await ask("look", "reaper", "0", "0", "0");
    const look = readView(reply);
    // Another gateway ends them, and stays: an epoch without members would not be believed.
    await ask("join", "witness", look.epoch, "0");
    for (const { process, beat } of look.members) {
      let current = beat;
      // By a process that is no member, so the next gateway claims the outbox at once. A process that has sent another
      // heartbeat since then keeps its leases.
      while ((await ask("reap", "reaper", look.epoch, process, current)) === -1) {
        const { members } = readView(await ask("look", "reaper", "0", "0", "0"));
        current = members.find((member) => member.process === process)?.beat ?? current;
      }
    }
  }
  client.disconnect();
}
