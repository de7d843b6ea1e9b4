import { join } from "node:path";
import { FolderInUse } from "../../process/lock.ts";
import type { Log } from "../../process/log.ts";
import { type Machine, systemMachine } from "../../process/machine.ts";
import { decodeEntry } from "../entry.ts";
import { Journal } from "../journal/journal.ts";
import type { StoredEntry } from "../outbox-entry.ts";

/** Maximum number of processes that share a spool folder. */
const FOLDERS_MAX = 256;

export interface SpoolOptions {
  /** Has one subfolder for each process that shares it. */
  readonly folder: string;
  readonly bytesMax: number;
  readonly log: Log;
  readonly machine?: Machine;
}

/**
 * A post on the disk, with its full cost as its charge. Call `drop` once Redis or the ledger has the
 * post.
 */
interface Spooled {
  readonly entry: StoredEntry;
  drop(): void;
}

/**
 * Keeps posts on the disk while Redis is unreachable. Each process has its own journal, in the first free subfolder. At
 * the start it also takes over the journals that dead processes left.
 */
export class Spool {
  /** Posts that earlier processes left, oldest first within each journal. */
  readonly recovered: readonly Spooled[];

  static async open(options: SpoolOptions): Promise<Spool> {
    const { disk } = options.machine ?? systemMachine;
    const found: Journal[] = [];
    for (let at = 0; at < FOLDERS_MAX; at += 1) {
      const folder = join(options.folder, String(at));
      if (found.length > 0 && !disk.exists(folder)) break;
      const journal = await openFree(folder, options);
      if (journal) found.push(journal);
    }
    const [own, ...others] = found;
    if (own === undefined)
      throw new Error(
        `${options.folder} has no free folder for a spool: ${FOLDERS_MAX} processes use it; set another folder`,
      );
    return new Spool(own, others);
  }

  private constructor(
    private readonly own: Journal,
    private readonly others: readonly Journal[],
  ) {
    this.recovered = [own, ...others].flatMap((journal) =>
      journal.recovered.map(({ position, payload }) => ({
        entry: decodeEntry(String(position), payload),
        drop: () => journal.acknowledge(position),
      })),
    );
  }

  /** Writes a post; resolves once it is on the disk. Rejects if it is not. The posts of a turn share a sync. */
  async add(entry: StoredEntry): Promise<Spooled> {
    const { own } = this;
    const position = own.appendAll([entry.text]);
    await own.whenSynced(position);
    return { entry, drop: () => own.acknowledge(position) };
  }

  /** See `HoldStore.unsyncedMs`. */
  get unsyncedMs(): number {
    return this.own.unsyncedMs;
  }

  /** Returns why a post of `bytes` bytes cannot be written now; undefined if it can. */
  refusal(bytes: number): string | undefined {
    return this.own.refusal(bytes);
  }

  async close(): Promise<void> {
    await Promise.all([this.own, ...this.others].map((journal) => journal.close()));
  }
}

async function openFree(folder: string, options: SpoolOptions): Promise<Journal | undefined> {
  const { bytesMax, log, machine = systemMachine } = options;
  try {
    // Do not wait for the lock: another process uses this folder, and the next one may be free.
    return await Journal.open({ folder, bytesMax, sync: true, lockWaitMs: 0, log, machine });
  } catch (error) {
    if (error instanceof FolderInUse) return undefined;
    throw error;
  }
}
