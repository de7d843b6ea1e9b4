import type { OutboxEntry, StoredEntry, WalletSnapshot } from "../../core/contract/hold-store.ts";
import type { Credit, CreditResult, Ledger, LedgerSum } from "../../core/contract/ledger.ts";
import type { Random } from "../support/random.ts";
import { LedgerBooks } from "./ledger.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

const LATENCY_MS_MAX = 4;
const SLOW_MS_MAX = 1_500;
/** Closes a connection that owes a reply after this time, as the database client does. */
const REPLY_TIMEOUT_MS = 5_000;

/** The server of the ledger, and the network to it. */
export class LedgerServer {
  readonly books = new LedgerBooks();
  private readonly scheduler: Scheduler;
  private readonly random: Random;
  /** `refuses`: connections are refused. `hangs`: requests get no reply. */
  state: "up" | "refuses" | "hangs" = "up";
  isSlow = false;
  /** Share of requests that are carried out, but whose reply is lost. */
  lostReplies = 0;

  constructor(scheduler: Scheduler, random: Random) {
    this.scheduler = scheduler;
    this.random = random;
  }

  get nowMs(): number {
    return this.scheduler.nowMs;
  }

  /** Returns the ledger as a gateway sees it, over the network. */
  for(process: SimulatedProcess): Ledger {
    return new LedgerClient(this, process) as unknown as Ledger;
  }

  /** Runs `work` as one transaction, and returns its result or an error to the calling process. */
  request<T>(process: SimulatedProcess, name: string, work: (books: LedgerBooks) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!process.alive) return;
      const fail = (ms: number, reason: string) =>
        process.receive(ms, `ledger ${name} failed`, () => reject(new Error(reason)));
      const there = this.latencyMs();
      if (this.state === "refuses") return fail(there, "connect ECONNREFUSED");
      if (this.state === "hangs") return fail(REPLY_TIMEOUT_MS, "the ledger does not answer");
      this.scheduler.after(there, `ledger ${name}`, () => {
        if (this.state !== "up") return fail(1, "the connection was closed");
        let done: () => void;
        try {
          const result = work(this.books);
          done = () => resolve(result);
        } catch (error) {
          done = () => reject(error);
        }
        if (this.random.chance(this.lostReplies)) return fail(1, "the connection was closed");
        process.receive(this.latencyMs(), `ledger ${name} done`, done);
      });
    });
  }

  private latencyMs(): number {
    return this.random.fraction() * (this.isSlow ? SLOW_MS_MAX : LATENCY_MS_MAX);
  }
}

/** The methods that move money; the others only display it. */
type MoneyOfLedger = Pick<
  Ledger,
  | ("start" | "stop" | "ping" | "commit" | "quarantine" | "quarantined" | "hasCall")
  | ("credit" | "credited" | "now" | "wallet" | "sum" | "sums")
>;

class LedgerClient implements MoneyOfLedger {
  private readonly server: LedgerServer;
  private readonly process: SimulatedProcess;

  constructor(server: LedgerServer, process: SimulatedProcess) {
    this.server = server;
    this.process = process;
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}

  ping(): Promise<void> {
    return this.ask("ping", () => {});
  }

  commit(entries: readonly OutboxEntry[]): Promise<void> {
    return this.ask("commit", (books) => books.commit(entries));
  }

  quarantine(entry: StoredEntry, reason: string): Promise<void> {
    return this.ask("quarantine", (books) => books.park(entry, reason));
  }

  quarantined(): Promise<number> {
    return this.ask("quarantined", (books) => books.quarantine.size);
  }

  hasCall({ callId }: { readonly callId: string }): Promise<boolean> {
    return this.ask("hasCall", (books) => books.hasCall(callId));
  }

  credit(movement: Credit, beforeMs?: number): Promise<CreditResult> {
    const { server } = this;
    return this.ask("credit", (books) => books.credit(movement, server.nowMs, beforeMs));
  }

  now(): Promise<number> {
    return this.ask("now", () => this.server.nowMs);
  }

  credited(movement: Credit): Promise<CreditResult | undefined> {
    return this.ask("credited", (books) => books.credited(movement));
  }

  wallet(accountId: string): Promise<WalletSnapshot | undefined> {
    return this.ask("wallet", (books) => books.wallet(accountId));
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
}
