import type { LoadedVersion, WalletSnapshot } from "../../core/money/hold-store.ts";
import { LedgerWriter } from "../../core/money/ledger/writer.ts";
import type { CreditResult, Ledger, LedgerSum, QuarantinedCall } from "../../core/money/ledger.ts";
import type { LedgerEpochs } from "../../core/money/ledger-epochs.ts";
import type {
  LedgerHistory,
  LedgerProgress,
  LedgerState,
} from "../../core/money/ledger-history.ts";
import type { Movement, ReadableEntry, StoredEntry } from "../../core/money/outbox-entry.ts";
import { epochsOf } from "../support/epoch-books.ts";
import { LedgerBooks } from "../support/ledger-books.ts";
import type { Random } from "../support/random.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";
import { decodedByNewer } from "./versions.ts";

const LATENCY_MS_MAX = 4;
const SLOW_MS_MAX = 1_500;
/** Time after which a connection that owes a reply is closed, as the database client does it. */
const REPLY_TIMEOUT_MS = 5_000;

/** A movement without a reply may be carried out this much later: its client has gone, and the server has not noticed. */
const LATE_MS_MAX = 15_000;
const LATE = new Set(["credit"]);
/** With Redis, a commit may be too: its gateway may die before, and the wallets be loaded again. */
const LATE_WITH_REDIS = "commit";
const LATE_SHARE = 0.3;

const BACKUPS_MAX = 20;

/** The server of the ledger, and the network to it. */
export class LedgerServer {
  books = new LedgerBooks();
  /** Times at which a restore was accepted. */
  readonly acceptedMs: number[] = [];
  private readonly backups: LedgerBooks[] = [];
  private owner: SimulatedProcess | undefined;
  private readonly clients = new WeakMap<SimulatedProcess, LedgerClient>();
  /** `refuses`: connections are refused. `hangs`: requests get no reply. */
  state: "up" | "refuses" | "hangs" = "up";
  /** Gateways that cannot reach it. */
  readonly cutOff = new Set<SimulatedProcess>();
  isSlow = false;
  /** Share of requests that are carried out, but whose reply is lost. Some movements are carried out later than that. */
  lostReplies = 0;

  constructor(
    readonly scheduler: Scheduler,
    private readonly random: Random,
  ) {}

  get nowMs(): number {
    return this.scheduler.nowMs;
  }

  /** Keeps a copy of the books: a backup, or the state of an asynchronous replica. */
  keepBackup(): void {
    this.backups.push(this.books.copy());
    if (this.backups.length > BACKUPS_MAX) this.backups.shift();
  }

  /** Restores a backup: the newest at `age` 0, the oldest at 1. Returns the calls and movements that are lost. */
  restore(age: number): { readonly calls: string[]; readonly movements: number } {
    const before = this.books;
    const at = Math.floor((1 - age) * (this.backups.length - 1));
    const backup = this.backups[at];
    if (backup === undefined) return { calls: [], movements: 0 };
    this.books = backup.copy();
    this.backups.length = at + 1;
    const calls = [...before.charges.keys(), ...before.quarantine.keys()];
    return {
      calls: calls.filter((callId) => !this.books.hasCall(callId)),
      movements: before.movements.size - this.books.movements.size,
    };
  }

  /** Returns the ledger as a gateway sees it, over the network. */
  for(process: SimulatedProcess): Ledger {
    const client = this.clients.get(process) ?? new LedgerClient(this, process);
    this.clients.set(process, client);
    return client as unknown as Ledger;
  }

  /** Ends the requests of every other process, as the lock on balances in memory does at a start. */
  lock(process: SimulatedProcess): void {
    this.owner = process;
  }

  /** Runs `work` as one transaction, and returns its result or an error to the calling process. */
  request<T>(process: SimulatedProcess, name: string, work: (books: LedgerBooks) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!process.alive) return;
      const fail = (ms: number, reason: string) =>
        process.receive(ms, `ledger ${name} failed`, () => reject(new Error(reason)));
      const there = this.latencyMs();
      if (this.state === "refuses") return fail(there, "connect ECONNREFUSED");
      if (this.cutOff.has(process)) return fail(REPLY_TIMEOUT_MS, "the ledger does not answer");
      if (this.state === "hangs") return fail(REPLY_TIMEOUT_MS, "the ledger does not answer");
      this.scheduler.after(there, `ledger ${name}`, () => {
        if (this.state !== "up") return fail(1, "the connection was closed");
        if (this.owner !== undefined && this.owner !== process) return;
        const isLost = this.random.chance(this.lostReplies);
        if (isLost && this.mayBeLate(name) && this.random.chance(LATE_SHARE)) {
          this.carryOutLate(name, work);
          return fail(1, "the connection was closed");
        }
        let done: () => void;
        try {
          const result = work(this.books);
          done = () => resolve(result);
        } catch (error) {
          done = () => reject(error);
        }
        if (isLost) return fail(1, "the connection was closed");
        process.receive(this.latencyMs(), `ledger ${name} done`, done);
      });
    });
  }

  private carryOutLate(name: string, work: (books: LedgerBooks) => unknown): void {
    const { books } = this;
    this.scheduler.after(this.random.below(LATE_MS_MAX), `ledger ${name} late`, () => {
      // A restart of the server ends its statements.
      if (this.state !== "up" || this.books !== books) return;
      try {
        work(books);
      } catch {
        // The error has no receiver.
      }
    });
  }

  private mayBeLate(name: string): boolean {
    return LATE.has(name) || (name === LATE_WITH_REDIS && this.owner === undefined);
  }

  private latencyMs(): number {
    return this.random.fraction() * (this.isSlow ? SLOW_MS_MAX : LATENCY_MS_MAX);
  }
}

/** The methods that move money; the others only display it. */
type MoneyOfLedger = Pick<
  Ledger,
  | (
      | "history"
      | "epochs"
      | "start"
      | "stop"
      | "ping"
      | "commit"
      | "quarantine"
      | "quarantined"
      | "quarantinedCall"
      | "hasCall"
    )
  | "commitQuarantined"
  | ("credit" | "credited" | "completeThrough" | "wallet" | "purse" | "sum" | "sums")
>;

class LedgerClient implements MoneyOfLedger {
  private readonly writer: LedgerWriter;
  readonly history: LedgerHistory;
  readonly epochs: LedgerEpochs = epochsOf((work) =>
    this.ask("epochs", ({ epochs }) => work(epochs)),
  );

  constructor(
    private readonly server: LedgerServer,
    private readonly process: SimulatedProcess,
  ) {
    this.writer = new LedgerWriter(() => process.uuid());
    const { scheduler, acceptedMs } = server;
    this.history = new HistoryClient(
      this.writer,
      (name, work) => this.ask(name, work),
      () => acceptedMs.push(scheduler.nowMs),
    );
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}

  ping(): Promise<void> {
    return this.ask("ping", () => {});
  }

  commit(entries: readonly ReadableEntry[]): Promise<readonly string[]> {
    const { server } = this;
    return this.counted("commit", (books) => books.commit(entries, server.nowMs));
  }

  quarantine(entry: StoredEntry, reason: string): Promise<void> {
    return this.counted("quarantine", (books) => books.park(entry, reason));
  }

  commitQuarantined(callId: string): Promise<boolean> {
    const { version } = this.process;
    const decode = (entry: StoredEntry) => (version === "newer" ? decodedByNewer(entry) : entry);
    return this.counted("retry", (books) => books.commitQuarantined(callId, decode));
  }

  quarantined(): Promise<number> {
    return this.ask("quarantined", (books) => books.quarantine.size);
  }

  quarantinedCall(callId: string): Promise<QuarantinedCall | undefined> {
    const since = new Date(this.server.nowMs);
    return this.ask("quarantinedCall", ({ quarantine }) => {
      const parked = quarantine.get(callId);
      return parked && { ...parked, since };
    });
  }

  hasCall({ callId }: { readonly callId: string }): Promise<boolean> {
    return this.ask("hasCall", (books) => books.hasCall(callId));
  }

  credit(movement: Movement): Promise<CreditResult> {
    const { server } = this;
    return this.counted("credit", (books) => books.credit(movement, server.nowMs));
  }

  completeThrough(): Promise<number> {
    return this.ask("now", () => this.server.nowMs);
  }

  credited(movement: Movement): Promise<CreditResult | undefined> {
    return this.ask("credited", (books) => books.credited(movement));
  }

  wallet(accountId: string): Promise<WalletSnapshot | undefined> {
    return this.ask("wallet", (books) => books.wallet(accountId));
  }

  purse(accountId: string, name: string): Promise<WalletSnapshot | undefined> {
    return this.ask("purse", (books) => books.purse(accountId, name));
  }

  newerWallets(loaded: readonly LoadedVersion[]): Promise<WalletSnapshot[]> {
    return this.ask("newer wallets", (books) => books.newerWallets(loaded));
  }

  movedWallets(sinceMs: number): Promise<WalletSnapshot[]> {
    return this.ask("moved wallets", (books) => books.movedWallets(sinceMs));
  }

  sum(accountId: string): Promise<LedgerSum | undefined> {
    return this.ask("sum", (books) => books.sum(accountId));
  }

  async *sums(): AsyncGenerator<LedgerSum> {
    for (const accountId of this.server.books.wallets.keys()) {
      const sum = await this.sum(accountId);
      if (sum) yield sum;
    }
  }

  private ask<T>(name: string, work: (books: LedgerBooks) => T): Promise<T> {
    return this.server.request(this.process, name, work);
  }

  private async counted<T>(name: string, work: (books: LedgerBooks) => T): Promise<T> {
    const { result } = await this.writer.run((stamp) =>
      this.ask(name, (books) => books.counts.run(stamp, () => work(books))),
    );
    return result;
  }
}

type Ask = <T>(name: string, work: (books: LedgerBooks) => T) => Promise<T>;

class HistoryClient implements LedgerHistory {
  constructor(
    private readonly writer: LedgerWriter,
    private readonly ask: Ask,
    private readonly onAccepted: () => void,
  ) {}

  get confirmed(): LedgerProgress {
    return this.writer.confirmed;
  }

  enter(generation: number): void {
    this.writer.enter(generation);
  }

  read(): Promise<LedgerState> {
    return this.ask("history", ({ counts }) => counts.read());
  }

  /** All writers count as recent, so none is old. */
  async forgetOld(): Promise<void> {}

  beginGeneration(after: number): Promise<void> {
    return this.ask("generation", ({ counts }) => {
      counts.begin(after);
      this.onAccepted();
    });
  }
}
