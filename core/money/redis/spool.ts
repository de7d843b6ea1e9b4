import { join } from "node:path";
import { FolderInUse } from "../../process/lock.ts";
import type { Log } from "../../process/log.ts";
import { type Machine, systemMachine } from "../../process/machine.ts";
import { atEndOfTurn } from "../../process/turn.ts";
import { decodeEntry, entryOf } from "../entry.ts";
import { Journal } from "../journal/journal.ts";
import type { Posting, StoredEntry } from "../outbox-entry.ts";

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

interface QueuedPost {
  readonly entry: StoredEntry;
  resolve(spooled: Spooled): void;
  reject(error: unknown): void;
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
    const found: JournalOfPosts[] = [];
    for (let at = 0; at < FOLDERS_MAX; at += 1) {
      const folder = join(options.folder, String(at));
      if (found.length > 0 && !disk.exists(folder)) break;
      const journal = await openFree(folder, options);
      if (journal) found.push(new JournalOfPosts(journal));
    }
    const [own, ...others] = found;
    if (own === undefined)
      throw new Error(
        `${options.folder} has no free folder for a spool: ${FOLDERS_MAX} processes use it; set another folder`,
      );
    return new Spool(own, others);
  }

  private constructor(
    private readonly own: JournalOfPosts,
    private readonly others: readonly JournalOfPosts[],
  ) {
    this.recovered = [own, ...others].flatMap((journal) => journal.recovered);
  }

  /** Writes a post, with the others of this turn; resolves once it is on the disk. Rejects if it is not. */
  add(posting: Posting): Promise<Spooled> {
    return this.own.add(posting);
  }

  /** See `HoldStore.unsyncedMs`. */
  get unsyncedMs(): number {
    return this.own.journal.unsyncedMs;
  }

  /** Returns why a post of `bytes` bytes cannot be written now; undefined if it can. */
  refusal(bytes: number): string | undefined {
    return this.own.journal.refusal(bytes);
  }

  async close(): Promise<void> {
    await Promise.all([this.own, ...this.others].map(({ journal }) => journal.close()));
  }
}

class JournalOfPosts {
  readonly recovered: Spooled[] = [];
  private queue: QueuedPost[] = [];

  constructor(readonly journal: Journal) {
    for (const { position, payload } of journal.recovered) {
      this.recovered.push(this.spooled(decodeEntry(String(position), payload), position));
    }
  }

  add(posting: Posting): Promise<Spooled> {
    const entry = entryOf("", posting, posting.costMicroVnd, 0);
    if (this.queue.length === 0) atEndOfTurn("post", () => this.write(this.queue.splice(0)));
    return new Promise((resolve, reject) => this.queue.push({ entry, resolve, reject }));
  }

  /** Writes posts with one append and one sync. If they do not all fit, tries each by itself. */
  private write(posts: readonly QueuedPost[]): void {
    let first: number;
    try {
      first = this.journal.appendAll(posts.map(({ entry }) => entry.text));
    } catch (error) {
      if (posts.length > 1) for (const post of posts) this.write([post]);
      else posts[0]?.reject(error);
      return;
    }
    const keep = () => {
      for (const [at, { entry, resolve }] of posts.entries())
        resolve(this.spooled(entry, first + at));
    };
    const refuse = (error: unknown) => {
      for (const { reject } of posts) reject(error);
    };
    this.journal.whenSynced(first + posts.length - 1).then(keep, refuse);
  }

  private spooled(entry: StoredEntry, position: number): Spooled {
    return { entry, drop: () => this.journal.acknowledge(position) };
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
