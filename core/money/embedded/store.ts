import { requireMicroVnd } from "../../contract/amount.ts";
import type {
  Balances,
  CreditTotal,
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  HoldResult,
  HotHealth,
  HotStore,
  LimitBalances,
  LimitSnapshot,
  OutboxEntry,
  Posted,
  Posting,
  WalletSnapshot,
} from "../../contract/hold-store.ts";
import { failpoint } from "../../process/failpoint.ts";
import { errorOf } from "../../process/thrown.ts";
import { WakeableSleep } from "../../process/wakeable-sleep.ts";
import { decodeEntry, encodeEntry } from "../entry.ts";
import { Journal, type JournalOptions } from "../journal/journal.ts";
import { Outbox } from "../outbox.ts";
import { RecentCalls } from "../recent.ts";
import type { Limit } from "./limit.ts";
import { Replay } from "./replay.ts";
import {
  balancesOf,
  charge,
  chargeable,
  findLimits,
  giveBackHold,
  type Hold,
  limitsOfPost,
  raiseHold,
  setLimit,
  shortOf,
  takeBackCharge,
  takeHold,
  type Wallet,
  walletOf,
} from "./wallet.ts";

/** A record of the journal is about 300 bytes; holds are refused while there is room for their posts. */
const POST_BYTES_RESERVED = 1_024;

export interface EmbeddedHotOptions {
  readonly journal: JournalOptions;
  /** Holds are refused while more posted calls than this wait for the ledger (about 1.3 KB of memory each). */
  readonly outboxEntriesMax: number;
}

/** A post that has changed its wallet, and is not in the journal yet. */
interface Charge extends Omit<OutboxEntry, "entryId"> {
  readonly wallet: Wallet | undefined;
  readonly limits: readonly Limit[];
  readonly hold: Hold | undefined;
}

interface Opening {
  done: Promise<boolean>;
  /** A movement that came while the wallet was being read, and may be newer than the reading. */
  credit: CreditTotal | undefined;
}

const REVOKED: HoldResult = { kind: "revoked" };
const STALE: HoldResult = { kind: "stale" };
const UNKNOWN: HoldResult = { kind: "unknown" };
const GONE: ExtendResult = { kind: "gone" };

/**
 * The hot store of a single process: wallets and holds in memory, posted calls in a journal. A kill -9
 * loses the holds, which is what it should do, and no posted call. Every answer is synchronous but
 * `open` and `read`.
 */
export class EmbeddedHotStore implements HotStore {
  private readonly options: EmbeddedHotOptions;
  private readonly wallets = new Map<string, Wallet>();
  private readonly opening = new Map<string, Opening>();
  private readonly holds = new Map<string, Hold>();
  private readonly revoked = new Set<string>();
  private readonly recent = new RecentCalls();
  private journal: Journal | undefined;
  private outbox = new Outbox(1);
  private replay = new Replay([]);
  /** Ended by the next post, and by a stop. */
  private readonly pause = new WakeableSleep();

  constructor(options: EmbeddedHotOptions) {
    this.options = options;
  }

  async start(): Promise<void> {
    const journal = await Journal.open(this.options.journal);
    const entries = journal.recovered.map((record) =>
      decodeEntry(String(record.position), record.payload),
    );
    this.outbox = new Outbox(journal.recovered[0]?.position ?? journal.position);
    for (const entry of entries) this.keep(entry, Number(entry.entryId));
    this.replay = new Replay(entries);
    this.journal = journal;
    const { log } = this.options.journal;
    if (entries.length > 0) log.info({ calls: entries.length }, "replaying posted calls");
  }

  async stop(): Promise<void> {
    this.pause.wake();
    this.replay.abandon();
    await this.journal?.close();
  }

  hold(request: HoldRequest): HoldResult {
    if (this.revoked.has(request.keyId)) return REVOKED;
    const wallet = this.wallets.get(request.accountId);
    if (wallet === undefined) return UNKNOWN;
    const existing = this.holds.get(request.callId);
    if (existing !== undefined) return { kind: "held", amountMicroVnd: existing.amountMicroVnd };
    if (this.recent.get(request.callId) !== undefined) {
      throw new Error(`call ${request.callId} was posted before it was held`);
    }
    const reason = this.refusal();
    if (reason !== undefined) return { kind: "unavailable", reason };
    const { creditVersion } = request;
    if (creditVersion !== undefined && creditVersion < wallet.creditVersion) return STALE;
    const limits = findLimits(wallet, request.limits);
    if (typeof limits === "string") return { kind: "no_limit", limit: limits };
    const hold = takeHold(wallet, limits, request.amountMicroVnd, request.floorMicroVnd);
    if (hold === undefined) return shortOf(wallet, limits);
    this.holds.set(request.callId, hold);
    return { kind: "held", amountMicroVnd: hold.amountMicroVnd };
  }

  extend(request: ExtendRequest): ExtendResult {
    const hold = this.holds.get(request.callId);
    if (hold === undefined) return GONE;
    const { totalMicroVnd, floorMicroVnd } = request;
    const isEnough = totalMicroVnd <= hold.amountMicroVnd;
    if (!isEnough && !raiseHold(hold, totalMicroVnd, floorMicroVnd)) {
      return shortOf(hold.wallet, hold.limits);
    }
    return { kind: "held", amountMicroVnd: hold.amountMicroVnd };
  }

  post(posting: Posting): Posted {
    const [answer] = this.postAll([posting]);
    if (answer === undefined || answer instanceof Error) throw answer;
    return answer;
  }

  postAll(postings: readonly Posting[]): (Posted | Error)[] {
    const answers: (Posted | Error)[] = [];
    let charges: Charge[] = [];
    const keepCharges = () => {
      for (const answer of this.keepAll(charges)) answers.push(answer);
      charges = [];
    };
    for (const posting of postings) {
      try {
        const hold = this.holds.get(posting.callId);
        // Without a hold it may have been posted before: perhaps by one of these.
        if (hold === undefined) keepCharges();
        const before = hold ? undefined : this.recent.get(posting.callId);
        if (before === undefined) charges.push(this.charge(posting, hold));
        else answers.push({ ...before, duplicate: true });
      } catch (error) {
        keepCharges();
        answers.push(errorOf(error));
      }
    }
    keepCharges();
    return answers;
  }

  void(callId: string): void {
    const hold = this.holds.get(callId);
    if (hold === undefined) return;
    this.holds.delete(callId);
    giveBackHold(hold);
  }

  open(accountId: string, read: () => Promise<WalletSnapshot | undefined>): Promise<boolean> {
    if (this.wallets.has(accountId)) return Promise.resolve(true);
    const running = this.opening.get(accountId);
    if (running !== undefined) return running.done;
    const opening: Opening = { done: Promise.resolve(false), credit: undefined };
    this.opening.set(accountId, opening);
    opening.done = this.install(accountId, read, opening).finally(() =>
      this.opening.delete(accountId),
    );
    return opening.done;
  }

  credit(movement: CreditTotal): void {
    const { accountId, creditVersion, creditedMicroVnd, releasedCallId } = movement;
    const wallet = this.wallets.get(accountId);
    if (wallet === undefined) {
      const opening = this.opening.get(accountId);
      if (opening && creditVersion > (opening.credit?.creditVersion ?? 0))
        opening.credit = movement;
      return;
    }
    const isNews = creditVersion > wallet.creditVersion;
    const difference = isNews ? Number(creditedMicroVnd - wallet.creditedMicroVnd) : 0;
    const released = this.holds.get(releasedCallId ?? "")?.amountMicroVnd ?? 0;
    if (wallet.availableMicroVnd + released + difference < 0) return;
    requireMicroVnd(
      wallet.availableMicroVnd + wallet.heldMicroVnd + wallet.pendingMicroVnd + difference,
    );
    if (releasedCallId !== null) this.void(releasedCallId);
    if (!isNews) return;
    wallet.availableMicroVnd += difference;
    wallet.creditVersion = creditVersion;
    wallet.creditedMicroVnd = creditedMicroVnd;
  }

  setLimit(accountId: string, limit: LimitSnapshot): boolean {
    const wallet = this.wallets.get(accountId);
    if (wallet === undefined) return false;
    setLimit(wallet, limit);
    return true;
  }

  dropLimit(accountId: string, name: string): boolean {
    const limits = this.wallets.get(accountId)?.limits;
    if ((limits?.get(name)?.balances.heldMicroVnd ?? 0) !== 0) return false;
    limits?.delete(name);
    return true;
  }

  limit(accountId: string, name: string): LimitBalances | undefined {
    return this.wallets.get(accountId)?.limits?.get(name)?.balances;
  }

  balances(accountId: string): Balances | undefined {
    const wallet = this.wallets.get(accountId);
    return wallet === undefined ? undefined : balancesOf(wallet);
  }

  async *openWallets(): AsyncGenerator<string[]> {
    yield [...this.wallets.keys()];
  }

  revoke(keyId: string): void {
    this.revoked.add(keyId);
  }

  restore(keyId: string): void {
    this.revoked.delete(keyId);
  }

  async read(max: number, waitMs: number): Promise<OutboxEntry[]> {
    if (this.outbox.size === 0 && waitMs > 0) await this.pause.sleep(waitMs);
    return this.outbox.peek(max);
  }

  acknowledge(entries: readonly OutboxEntry[]): void {
    for (const { entryId } of entries) {
      const entry = this.outbox.take(Number(entryId));
      if (entry === undefined || this.replay.settle(entry)) continue;
      const wallet = this.wallets.get(entry.posting.accountId);
      if (wallet !== undefined) wallet.pendingMicroVnd -= entry.chargedMicroVnd;
    }
    this.journal?.acknowledge(this.outbox.takenThrough);
  }

  backlog(): number {
    return this.outbox.size;
  }

  /** Turns the hold of a call into its charge; throws, and changes nothing, where there is nothing to charge. */
  private charge(posting: Posting, hold: Hold | undefined): Charge {
    const cost = posting.costMicroVnd;
    requireMicroVnd(cost);
    const wallet = hold?.wallet ?? this.wallets.get(posting.accountId);
    if (wallet === undefined && cost > 0) {
      throw new Error(`call ${posting.callId} costs money, but nothing was ever held for it`);
    }
    const heldMicroVnd = hold?.amountMicroVnd ?? 0;
    const chargedMicroVnd = wallet ? chargeable(wallet, cost, heldMicroVnd) : 0;
    const writtenOffMicroVnd = cost - chargedMicroVnd;
    const text = encodeEntry(posting, chargedMicroVnd, writtenOffMicroVnd);
    const limits = hold?.limits ?? limitsOfPost(wallet, posting.limits);
    if (wallet) charge(wallet, limits, chargedMicroVnd, heldMicroVnd);
    if (hold !== undefined) this.holds.delete(posting.callId);
    return { posting, wallet, limits, hold, chargedMicroVnd, writtenOffMicroVnd, text };
  }

  /** Undoes `charge`: nothing has come in between. */
  private takeBack({ posting, wallet, limits, hold, chargedMicroVnd }: Charge): void {
    if (wallet) takeBackCharge(wallet, limits, chargedMicroVnd, hold?.amountMicroVnd ?? 0);
    if (hold !== undefined) this.holds.set(posting.callId, hold);
  }

  /**
   * Puts charges into the journal with one write, then into the outbox. Where the journal refuses, the calls are not
   * posted and their holds stand; of several calls it may still take some.
   */
  private keepAll(charges: readonly Charge[]): (Posted | Error)[] {
    if (charges.length === 0) return [];
    let position: number;
    try {
      if (this.journal === undefined) throw new Error("the hot store is not started");
      position = this.journal.appendAll(charges.map(({ text }) => text));
    } catch (error) {
      for (const each of charges.toReversed()) this.takeBack(each);
      if (charges.length === 1) return [errorOf(error)];
      return charges.flatMap(({ posting }) => this.postAll([posting]));
    }
    return charges.map(({ posting, chargedMicroVnd, writtenOffMicroVnd, text }, at) => {
      const entryId = String(position + at);
      const entry = { entryId, posting, chargedMicroVnd, writtenOffMicroVnd, text };
      return this.keep(entry, position + at);
    });
  }

  private keep(entry: OutboxEntry, position: number): Posted {
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

  private async install(
    accountId: string,
    read: () => Promise<WalletSnapshot | undefined>,
    opening: Opening,
  ): Promise<boolean> {
    // No call can be posted for a wallet that is not open, so once the replayed ones are in the ledger,
    // a reading that begins now has them all, and nothing else is on its way.
    await this.replay.settled(accountId);
    const snapshot = await read();
    if (snapshot === undefined) return false;
    failpoint("wallet.read");
    this.wallets.set(accountId, walletOf(snapshot));
    if (opening.credit !== undefined) this.credit(opening.credit);
    failpoint("wallet.installed");
    return true;
  }

  /** Why no hold is taken now: every hold must find room for its post. */
  health(): HotHealth {
    const reason = this.refusal();
    return reason === undefined ? { kind: "ok" } : { kind: "away", reason };
  }

  private refusal(): string | undefined {
    if (this.outbox.size >= this.options.outboxEntriesMax) {
      return `${this.outbox.size} posted calls wait for the ledger, which is the most that may`;
    }
    return this.journal?.refusal((this.holds.size + 1) * POST_BYTES_RESERVED);
  }
}
