import { systemMachine } from "../../process/machine.ts";
import { WakeableSleep } from "../../process/wakeable-sleep.ts";
import { decodeEntry } from "../entry.ts";
import type { Posted } from "../hold-store.ts";
import { Journal, type JournalOptions } from "../journal/journal.ts";
import { Outbox } from "../outbox.ts";
import {
  type DebitEntry,
  isReadable,
  type OutboxEntry,
  type StoredEntry,
} from "../outbox-entry.ts";
import { RecentCalls } from "../recent.ts";
import { type StandingCall, standingPost } from "../standing.ts";
import { Replay } from "./replay.ts";

/** Journal space reserved per hold, so that its post fits; a record is about 300 bytes. */
const POST_BYTES_RESERVED = 1_024;

/** Keeps posted calls in the journal and in memory until the ledger has them. */
export class PostedCalls {
  private readonly options: JournalOptions;
  private readonly entriesMax: number;
  private readonly recent = new RecentCalls();
  private journal: Journal | undefined;
  private outbox = new Outbox(1);
  private replay = new Replay([]);
  /** The pause of the committer. The next post ends it, and so does a stop. */
  private readonly pause: WakeableSleep;

  constructor(options: JournalOptions, entriesMax: number) {
    this.options = options;
    this.pause = new WakeableSleep(options.machine);
    this.entriesMax = entriesMax;
  }

  /** Opens the journal, and queues the calls in it to be committed. */
  async start(): Promise<void> {
    const journal = await Journal.open(this.options);
    const entries = journal.recovered.map((record) =>
      decodeEntry(String(record.position), record.payload),
    );
    this.outbox = new Outbox(journal.recovered[0]?.position ?? journal.position);
    for (const entry of entries) {
      if (entry.posting === undefined) this.outbox.add(entry, Number(entry.entryId));
      else this.add(entry, Number(entry.entryId));
    }
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
    return this.outbox.size;
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
    return this.outbox.peek(1).map((entry) => {
      const { posting } = entry;
      const postedMs = posting ? posting.at + posting.latencyMs : entry.call.at || machine.now();
      return standingPost(entry, postedMs, "embedded");
    });
  }

  /** Returns the entry of an uncommitted call; undefined if there is none. */
  findUncommitted(callId: string): OutboxEntry | undefined {
    return this.outbox.find(callId);
  }

  /** Returns the result of a recently posted call; undefined if there is none. */
  find(callId: string): Posted | undefined {
    return this.recent.get(callId);
  }

  /** Appends entries to the journal with one write. Returns the position of the first. Throws if the write fails. */
  append(texts: readonly string[]): number {
    if (this.journal === undefined)
      throw new Error("the hold store is not started; call start first");
    return this.journal.appendAll(texts);
  }

  /** Adds an entry to the outbox; `position` is its position in the journal. */
  add(entry: OutboxEntry, position: number): Posted {
    const posted: Posted = {
      chargedMicroVnd: entry.chargedMicroVnd,
      writtenOffMicroVnd: entry.writtenOffMicroVnd,
      duplicate: false,
    };
    this.addDebit(entry, position);
    this.recent.add(entry.posting.callId, posted, position, this.outbox.takenThrough);
    return posted;
  }

  /** Adds an entry whose result need not be remembered. */
  addDebit(entry: OutboxEntry | DebitEntry, position: number): void {
    this.outbox.add(entry, position);
    this.pause.wake();
  }

  async read(max: number, waitMs: number): Promise<StoredEntry[]> {
    if (this.outbox.size === 0 && waitMs > 0) await this.pause.sleep(waitMs);
    const awaited = this.replay.awaited(max);
    return awaited.length > 0 ? awaited : this.outbox.peek(max);
  }

  /** Drops entries that are in the ledger. Returns those that count as uncommitted: all but the replayed ones. */
  acknowledge(entries: readonly StoredEntry[]): StoredEntry[] {
    const own = entries.filter((entry) => {
      const taken = this.outbox.take(Number(entry.entryId));
      return taken !== undefined && !this.replay.acknowledge(taken) && isReadable(entry);
    });
    this.journal?.acknowledge(this.outbox.takenThrough);
    return own;
  }

  /** Resolves once the ledger has every call of the account that the journal had at the start. */
  replayed(accountId: string): Promise<void> {
    return this.replay.whenCommitted(accountId);
  }

  /** Returns why the posts of `calls` calls cannot be kept; undefined if they can. */
  refusal(calls: number): string | undefined {
    if (this.outbox.size >= this.entriesMax) {
      return `${this.outbox.size} posted calls are not in the ledger yet (limit ${this.entriesMax})`;
    }
    return this.journal?.refusal(calls * POST_BYTES_RESERVED);
  }
}
