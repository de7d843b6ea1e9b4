import type { OutboxEntry, Posted } from "../../contract/hold-store.ts";
import { WakeableSleep } from "../../process/wakeable-sleep.ts";
import { decodeEntry } from "../entry.ts";
import { Journal, type JournalOptions } from "../journal/journal.ts";
import { Outbox } from "../outbox.ts";
import { RecentCalls } from "../recent.ts";
import { Replay } from "./replay.ts";

/** A record of the journal is about 300 bytes; holds are refused while there is room for their posts. */
const POST_BYTES_RESERVED = 1_024;

/** Posted calls on their way to the ledger: in the journal, and in memory until they are acknowledged. */
export class PostedCalls {
  private readonly options: JournalOptions;
  private readonly entriesMax: number;
  private readonly recent = new RecentCalls();
  private journal: Journal | undefined;
  private outbox = new Outbox(1);
  private replay = new Replay([]);
  /** Ended by the next post, and by a stop. */
  private readonly pause: WakeableSleep;

  constructor(options: JournalOptions, entriesMax: number) {
    this.options = options;
    this.pause = new WakeableSleep(options.machine);
    this.entriesMax = entriesMax;
  }

  /** Opens the journal, and takes up the calls that it still has. */
  async start(): Promise<void> {
    const journal = await Journal.open(this.options);
    const entries = journal.recovered.map((record) =>
      decodeEntry(String(record.position), record.payload),
    );
    this.outbox = new Outbox(journal.recovered[0]?.position ?? journal.position);
    for (const entry of entries) this.add(entry, Number(entry.entryId));
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

  /** The entry of a call that the ledger does not have yet; undefined for any other. */
  findUncommitted(callId: string): OutboxEntry | undefined {
    return this.outbox.find(callId);
  }

  /** What a call was charged that was posted lately; undefined for any other. */
  find(callId: string): Posted | undefined {
    return this.recent.get(callId);
  }

  /** Writes entries into the journal, with one write, and returns the position of the first. Throws if it keeps none. */
  append(texts: readonly string[]): number {
    if (this.journal === undefined) throw new Error("the hold store is not started");
    return this.journal.appendAll(texts);
  }

  /** Puts an entry that the journal has at this position into the outbox. */
  add(entry: OutboxEntry, position: number): Posted {
    const posted: Posted = {
      chargedMicroVnd: entry.chargedMicroVnd,
      writtenOffMicroVnd: entry.writtenOffMicroVnd,
      duplicate: false,
    };
    this.outbox.add(entry, position);
    this.recent.add(entry.posting.callId, posted, position, this.outbox.takenThrough);
    this.pause.wake();
    return posted;
  }

  async read(max: number, waitMs: number): Promise<OutboxEntry[]> {
    if (this.outbox.size === 0 && waitMs > 0) await this.pause.sleep(waitMs);
    return this.outbox.peek(max);
  }

  /** Drops entries that are in the ledger; returns those which this process has posted, so that they are uncommitted. */
  acknowledge(entries: readonly OutboxEntry[]): OutboxEntry[] {
    const own: OutboxEntry[] = [];
    for (const { entryId } of entries) {
      const entry = this.outbox.take(Number(entryId));
      if (entry !== undefined && !this.replay.acknowledge(entry)) own.push(entry);
    }
    this.journal?.acknowledge(this.outbox.takenThrough);
    return own;
  }

  /** Resolves once every call of the account that the journal had at the start is in the ledger. */
  replayed(accountId: string): Promise<void> {
    return this.replay.whenCommitted(accountId);
  }

  /** Why the posts of so many calls would not be kept; undefined if they would. */
  refusal(calls: number): string | undefined {
    if (this.outbox.size >= this.entriesMax) {
      return `${this.outbox.size} posted calls wait for the ledger, which is the most that may`;
    }
    return this.journal?.refusal(calls * POST_BYTES_RESERVED);
  }
}
