import { systemMachine } from "../../process/machine.ts";
import { WakeableSleep } from "../../process/wakeable-sleep.ts";
import { decodeEntry } from "../entry.ts";
import { Journal, type JournalOptions } from "../journal/journal.ts";
import { Outbox } from "../outbox.ts";
import type { ReadableEntry, StoredEntry } from "../outbox-entry.ts";
import { type StandingCall, standingPost } from "../standing.ts";
import { callOf } from "../unreadable.ts";
import { Replay } from "./replay.ts";

/** Journal space reserved per hold, so that its post fits; a record is about 300 bytes. */
const POST_BYTES_RESERVED = 1_024;

/** Keeps posted calls in the journal and in memory until the ledger has them. The id of an entry is its place in the journal. */
export class PostedCalls {
  readonly outbox = new Outbox();
  private journal: Journal | undefined;
  private replay = new Replay([]);
  /** The pause of the committer. The next post ends it, and so does a stop. */
  private readonly pause: WakeableSleep;

  constructor(
    private readonly options: JournalOptions,
    private readonly entriesMax: number,
  ) {
    this.pause = new WakeableSleep(options.machine);
  }

  /** Opens the journal, and queues the calls in it to be committed. */
  async start(): Promise<void> {
    const journal = await Journal.open(this.options);
    const entries = journal.recovered.flatMap(({ position, payload }) => {
      const entry = decodeEntry(String(position), payload);
      if (!this.outbox.posted.has(callOf(entry).callId)) {
        this.outbox.post(entry);
        return [entry];
      }
      // A copy: the journal keeps the entry itself at least as long.
      journal.acknowledge(position);
      return [];
    });
    this.replay = new Replay(entries);
    this.journal = journal;
    const { log } = this.options;
    if (entries.length > 0) log.info({ calls: entries.length }, "replaying posted calls");
  }

  async stop(): Promise<void> {
    this.pause.wake();
    this.replay.abandon();
    await this.journal?.close();
  }

  get size(): number {
    return this.outbox.posted.size;
  }

  /** See `HoldStore.unsyncedMs`. */
  get unsyncedMs(): number {
    return this.journal?.unsyncedMs ?? 0;
  }

  /** Calls that the journal had at the start, and that are not acknowledged yet. */
  get leftToReplay(): number {
    return this.replay.left;
  }

  /** Returns the oldest uncommitted call. */
  standing(): StandingCall[] {
    const { machine = systemMachine } = this.options;
    return this.outbox.oldest(1).map((entry) => {
      const { posting } = entry;
      const postedMs = posting ? posting.at + posting.latencyMs : entry.call.at || machine.now();
      return standingPost(entry, postedMs, "embedded");
    });
  }

  /** Appends entries to the journal with one write. Returns the position of the first. Throws if the write fails. */
  append(texts: readonly string[]): number {
    if (this.journal === undefined)
      throw new Error("the hold store is not started; call start first");
    return this.journal.appendAll(texts);
  }

  /** Adds an entry that is in the journal. */
  add(entry: ReadableEntry): void {
    this.outbox.post(entry);
    this.pause.wake();
  }

  async read(max: number, waitMs: number): Promise<StoredEntry[]> {
    if (this.size === 0 && waitMs > 0) await this.pause.sleep(waitMs);
    return this.outbox.oldest(max);
  }

  /** Drops entries that are in the ledger. Returns those that were not dropped before. */
  acknowledge(entries: readonly StoredEntry[]): StoredEntry[] {
    return entries.filter((entry) => {
      const posted = this.outbox.commit(entry);
      if (posted === undefined) return false;
      this.journal?.acknowledge(Number(posted.entryId));
      this.replay.acknowledge(posted);
      return true;
    });
  }

  /** Resolves once the ledger has every call that the journal had at the start. */
  replayed(): Promise<void> {
    return this.replay.committed;
  }

  /** Returns why the posts of `calls` calls cannot be kept; undefined if they can. */
  refusal(calls: number): string | undefined {
    if (this.size >= this.entriesMax) {
      return `${this.size} posted calls are not in the ledger yet (limit ${this.entriesMax})`;
    }
    return this.journal?.refusal(calls * POST_BYTES_RESERVED);
  }
}
