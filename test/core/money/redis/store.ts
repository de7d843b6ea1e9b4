import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { epochScript } from "../../../../core/money/redis/scripts.ts";
import { createRedisHoldStore, type RedisHoldStore } from "../../../../core/money/redis/store.ts";
import type { LedgerLookup, StoreTimes } from "../../../../core/money/redis/store-options.ts";
import { readView } from "../../../../core/money/redis/view.ts";
import type { Log } from "../../../../core/process/log.ts";
import { type Machine, systemMachine } from "../../../../core/process/machine.ts";
import { bucketName } from "../../../../core/redis/buckets.ts";
import { RedisClient, type RedisCommands } from "../../../../core/redis/client.ts";
import { MemoryHistory } from "../../../support/commit-counts.ts";
import { EpochBooks, epochsOf } from "../../../support/epoch-books.ts";
import { recordedLog } from "../../../support/log.ts";

/** Fewer than in production, so that a start takes milliseconds. */
export const BUCKETS = 4;
/** Longer than in production: on a busy machine 500 calls at once wait for more than 450 ms. */
const REPLY_TIMEOUT_MS = 10_000;
/** On a busy machine a process may wait some 100 ms now and then. */
const TIMING: Partial<StoreTimes> = { heartbeatMs: 20, leaseMs: 1_000 };

export interface StoreOptions {
  readonly servers: string | readonly string[];
  readonly prefix?: string;
  /** Its own temporary folder by default. */
  readonly spoolFolder?: string;
  readonly spoolBytesMax?: number;
  readonly machine?: Machine;
  readonly ledger?: LedgerLookup;
  readonly times?: Partial<StoreTimes>;
  readonly outboxEntriesMax?: number;
  readonly log?: Log;
  readonly client?: RedisCommands;
  readonly beforeStart?: (store: RedisHoldStore) => void;
}

/** A hold store in this process that can crash like a process. */
export interface TestStore {
  readonly store: RedisHoldStore;
  /** Its id in Redis; `~1` and so on follow once its leases were ended. */
  readonly gateway: string;
  readonly prefix: string;
  readonly spoolFolder: string;
  /** Closes its connection and stops, which looks like a kill -9 to Redis. */
  die(): Promise<void>;
  /** Stops properly and deletes its spool. */
  dispose(): Promise<void>;
}

/** An empty ledger, for tests in which the store never reads it. Stores with one prefix share its epochs. */
export function emptyLedger(prefix: string): LedgerLookup {
  const books = epochs.get(prefix) ?? new EpochBooks();
  epochs.set(prefix, books);
  return {
    wallet: () => Promise.resolve(undefined),
    purse: () => Promise.resolve(undefined),
    hasCall: () => Promise.resolve(false),
    history: new MemoryHistory(),
    epochs: epochsOf(async (work) => work(books)),
  };
}

const epochs = new Map<string, EpochBooks>();

export async function startStore(options: StoreOptions): Promise<TestStore> {
  const prefix = options.prefix ?? `test-${randomUUID()}`;
  const spoolFolder = options.spoolFolder ?? newFolder();
  const client = options.client ?? clientOf(options.servers);
  const log = options.log ?? recordedLog().log;
  const { machine: given = systemMachine } = options;
  // A store asks for its own id first.
  const ids = [given.uuid()];
  const [gateway = ""] = ids;
  const machine = { ...given, uuid: () => ids.pop() ?? given.uuid() };
  const store = createRedisHoldStore({
    client,
    prefix,
    buckets: BUCKETS,
    times: { ...TIMING, ...options.times },
    spool: { folder: spoolFolder, bytesMax: options.spoolBytesMax ?? 10_000_000, log, machine },
    machine,
    outboxEntriesMax: options.outboxEntriesMax ?? 100_000,
    ledger: options.ledger ?? emptyLedger(prefix),
    log,
  });
  options.beforeStart?.(store);
  await store.start();
  return {
    store,
    gateway,
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
    const keys = [
      `${prefix}:{${bucketName(index)}}:epoch`,
      `${prefix}:{${bucketName(index)}}:none`,
    ];
    // By a process that is no member, so the next gateway claims the outbox at once.
    const ask = (...args: string[]) => client.run(epochScript, keys, [...args]);
    const look = async () => readView(await ask("look", "reaper"));
    const { epoch, members } = await look();
    for (const [process, beat] of members) {
      let current = beat;
      // A process that has sent another heartbeat since then keeps its leases.
      while ((await ask("reap", "reaper", epoch, process, current)) === -1)
        current = (await look()).members.get(process) ?? current;
    }
  }
  client.disconnect();
}
