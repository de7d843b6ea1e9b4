import { join } from "node:path";
import type { OutboxEntry, Posting } from "../../contract/hold-store.ts";
import { FolderInUse } from "../../process/lock.ts";
import type { Log } from "../../process/log.ts";
import { type Machine, systemMachine } from "../../process/machine.ts";
import { decodeEntry, entryOf } from "../entry.ts";
import { Journal } from "../journal/journal.ts";
import { Outbox } from "../outbox.ts";

/** More processes than this never share a folder. */
const FOLDERS_MAX = 256;

export interface SpoolOptions {
  /** Holds a folder for each process that shares it. */
  readonly folder: string;
  readonly bytesMax: number;
  readonly log: Log;
  readonly machine?: Machine;
}

/** A post that is on the disk; `done` forgets it. */
interface Spooled {
  readonly posting: Posting;
  done(): void;
}

/**
 * Posts of calls that ended while Redis was away, on the disk when `add` returns. Every process has a journal of
 * its own, in the first folder that is free; at the start it also takes what dead ones have left in theirs.
 */
export class Spool {
  /** Left by earlier processes, oldest first within each. */
  readonly recovered: readonly Spooled[];
  private readonly own: JournalOfPosts;
  private readonly others: readonly JournalOfPosts[];

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
    if (own === undefined) throw new Error(`${options.folder} has no free folder for a spool`);
    return new Spool(own, others);
  }

  private constructor(own: JournalOfPosts, others: readonly JournalOfPosts[]) {
    this.own = own;
    this.others = others;
    this.recovered = [own, ...others].flatMap((journal) => journal.recovered);
  }

  /** Throws where the post cannot be kept: the disk is full, or the spool is. */
  add(posting: Posting): Spooled {
    return this.own.add(posting);
  }

  /** Why a post of `bytes` could not be kept now. */
  refusal(bytes: number): string | undefined {
    return this.own.journal.refusal(bytes);
  }

  async close(): Promise<void> {
    await Promise.all([this.own, ...this.others].map(({ journal }) => journal.close()));
  }
}

class JournalOfPosts {
  readonly journal: Journal;
  readonly recovered: readonly Spooled[];
  private readonly entries: Outbox;

  constructor(journal: Journal) {
    this.journal = journal;
    this.entries = new Outbox(journal.recovered[0]?.position ?? journal.position);
    this.recovered = journal.recovered.map(({ position, payload }) =>
      this.track(decodeEntry(String(position), payload), position),
    );
  }

  add(posting: Posting): Spooled {
    const entry = entryOf("", posting, posting.costMicroVnd, 0);
    return this.track(entry, this.journal.append(entry.text));
  }

  private track(entry: OutboxEntry, position: number): Spooled {
    this.entries.add(entry, position);
    return {
      posting: entry.posting,
      done: () => {
        this.entries.take(position);
        this.journal.acknowledge(this.entries.takenThrough);
      },
    };
  }
}

async function openFree(folder: string, options: SpoolOptions): Promise<Journal | undefined> {
  const { bytesMax, log, machine = systemMachine } = options;
  try {
    // A folder that is in use is another process's: the next one may be free.
    return await Journal.open({ folder, bytesMax, sync: true, lockWaitMs: 0, log, machine });
  } catch (error) {
    if (error instanceof FolderInUse) return undefined;
    throw error;
  }
}
