import { requireMicroVnd } from "../../catalogue/amount.ts";
import type { Clock } from "../../process/clock.ts";
import { errorOf } from "../../process/thrown.ts";
import { encodeEntry } from "../entry.ts";
import type {
  DebitResult,
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  HoldResult,
  Posted,
} from "../hold-store.ts";
import type { DebitEntry, OutboxEntry, Posting, StoredEntry } from "../outbox-entry.ts";
import { type StandingCall, standingHold } from "../standing.ts";
import { callOf } from "../unreadable.ts";
import type { PostedCalls } from "./posted-calls.ts";
import {
  charge,
  chargeable,
  giveBackHold,
  type HeldPurse,
  type Hold,
  NO_PURSES,
  raiseHold,
  shortOf,
  takeHold,
  type Wallet,
} from "./wallet.ts";
import type { EmbeddedWallets } from "./wallets.ts";

/** A post that has changed its wallet but is not in the journal yet. */
interface Charge extends Omit<OutboxEntry, "entryId"> {
  readonly wallet: Wallet | undefined;
  readonly purses: readonly Wallet[];
  readonly hold: Hold | undefined;
}

/** The name of the only process that has embedded balances. */
const OWN = "embedded";
const STALE: HoldResult = { kind: "stale" };
const UNKNOWN = { kind: "unknown" } as const;
const GONE: ExtendResult = { kind: "gone" };

/** Holds money for calls in memory, and posts their charges to the journal. Synchronous throughout. */
export class EmbeddedCalls {
  private readonly holds = new Map<string, Hold>();

  constructor(
    private readonly wallets: EmbeddedWallets,
    private readonly posted: PostedCalls,
    private readonly clock: Clock,
  ) {}

  hold(request: HoldRequest): HoldResult {
    const wallet = this.wallets.get(request.accountId);
    if (wallet === undefined) return UNKNOWN;
    const existing = this.holds.get(request.callId);
    if (existing !== undefined) return { kind: "held", amountMicroVnd: existing.amountMicroVnd };
    if (this.posted.outbox.result(request.callId) !== undefined) {
      throw new Error(
        `call ${request.callId} was posted before it was held; give each call a new id`,
      );
    }
    const reason = this.refusal();
    if (reason !== undefined) return { kind: "unavailable", reason };
    const { creditVersion } = request;
    if (creditVersion !== undefined && creditVersion < wallet.creditVersion) return STALE;
    const purses = this.pursesOf(request);
    if (purses === undefined) return UNKNOWN;
    const { amountMicroVnd: wanted, floorMicroVnd: floor } = request;
    const hold = takeHold(wallet, purses, wanted, floor, this.clock.now());
    if (hold === undefined) return shortOf(wallet, purses);
    this.holds.set(request.callId, hold);
    return { kind: "held", amountMicroVnd: hold.amountMicroVnd };
  }

  /** Returns all holds. */
  standing(): StandingCall[] {
    return [...this.holds].map(([callId, { wallet, amountMicroVnd, sinceMs }]) => {
      const { accountId } = wallet;
      return standingHold({ callId, accountId, microVnd: amountMicroVnd, sinceMs, process: OWN });
    });
  }

  /** Returns the wallets and purses that calls have holds on. */
  walletsInUse(): Set<Wallet> {
    const used = new Set<Wallet>();
    for (const { wallet, purses } of this.holds.values()) {
      used.add(wallet);
      for (const { purse } of purses) used.add(purse);
    }
    return used;
  }

  /** Count of holds. */
  get size(): number {
    return this.holds.size;
  }

  extend(request: ExtendRequest): ExtendResult {
    const hold = this.holds.get(request.callId);
    if (hold === undefined) return GONE;
    const { totalMicroVnd, floorMicroVnd } = request;
    const isEnough = totalMicroVnd <= hold.amountMicroVnd;
    if (!isEnough && !raiseHold(hold, totalMicroVnd, floorMicroVnd)) {
      return shortOf(hold.wallet, hold.purses);
    }
    return { kind: "held", amountMicroVnd: hold.amountMicroVnd };
  }

  void(callId: string): void {
    const hold = this.holds.get(callId);
    if (hold === undefined) return;
    this.holds.delete(callId);
    giveBackHold(hold);
  }

  /** See `HoldStore.debit`. Throws if the journal does not take it. */
  debit(entry: DebitEntry): DebitResult {
    const { callId, accountId } = entry.call;
    const wallet = this.wallets.get(accountId);
    if (wallet === undefined) return UNKNOWN;
    if (this.posted.outbox.posted.has(callId)) return { kind: "posted", duplicate: true };
    const reason = this.refusal();
    if (reason !== undefined) return { kind: "unavailable", reason };
    const { chargedMicroVnd } = entry;
    if (wallet.availableMicroVnd < chargedMicroVnd) return shortOf(wallet, NO_PURSES);
    const position = this.posted.append([entry.text]);
    charge(wallet, NO_PURSES, chargedMicroVnd, 0);
    this.posted.add({ ...entry, entryId: String(position) });
    return { kind: "posted", duplicate: false };
  }

  /** Takes entries that are in the ledger out of uncommitted. */
  acknowledge(entries: readonly StoredEntry[]): void {
    for (const entry of this.posted.acknowledge(entries)) {
      const { accountId, purses } = callOf(entry);
      const wallet = this.wallets.get(accountId);
      if (wallet === undefined) continue;
      const { chargedMicroVnd } = entry;
      wallet.uncommittedMicroVnd -= chargedMicroVnd;
      for (const name of purses ?? NO_PURSES) {
        const purse = this.wallets.get(accountId, name);
        if (purse) purse.uncommittedMicroVnd -= chargedMicroVnd;
      }
      if ("isReturned" in entry) wallet.availableMicroVnd += chargedMicroVnd;
    }
  }

  postAll(postings: readonly Posting[]): (Posted | Error)[] {
    const results: (Posted | Error)[] = [];
    let charges: Charge[] = [];
    const appendCharges = () => {
      for (const result of this.appendAll(charges)) results.push(result);
      charges = [];
    };
    for (const posting of postings) {
      try {
        const hold = this.holds.get(posting.callId);
        // A call without a hold may be a duplicate of one earlier in this batch: append those first, so it is found.
        if (hold === undefined) appendCharges();
        const before = hold ? undefined : this.posted.outbox.result(posting.callId);
        if (before === undefined) charges.push(this.charge(posting, hold));
        else results.push(before);
      } catch (error) {
        appendCharges();
        results.push(errorOf(error));
      }
    }
    appendCharges();
    return results;
  }

  /** Returns why no hold can be taken now; undefined if one can. A hold is taken only if its post can be kept later. */
  refusal(): string | undefined {
    return this.posted.refusal(this.holds.size + 1);
  }

  /** Turns the hold of a call into its charge. Throws before any change if the call costs money but has no wallet. */
  private charge(posting: Posting, hold: Hold | undefined): Charge {
    const cost = posting.costMicroVnd;
    requireMicroVnd(cost);
    const wallet = hold?.wallet ?? this.wallets.get(posting.accountId);
    const purses = hold ? pursesIn(hold) : this.pursesOfPost(posting);
    if ((wallet === undefined || purses === undefined) && cost > 0) {
      throw new Error(
        `cannot post call ${posting.callId}: it costs money and its wallet is not loaded; hold first`,
      );
    }
    const heldMicroVnd = hold?.amountMicroVnd ?? 0;
    const chargedMicroVnd = wallet ? chargeable(wallet, cost, heldMicroVnd) : 0;
    const writtenOffMicroVnd = cost - chargedMicroVnd;
    const text = encodeEntry(posting, chargedMicroVnd, writtenOffMicroVnd);
    const charged = { purses: purses ?? NO_PURSES, chargedMicroVnd, writtenOffMicroVnd };
    if (wallet) charge(wallet, charged.purses, chargedMicroVnd, heldMicroVnd);
    if (hold !== undefined) this.holds.delete(posting.callId);
    return { posting, wallet, hold, ...charged, text };
  }

  /** Returns the purses of a request; undefined if one is not loaded. */
  private pursesOf({ accountId, purses = NO_PURSES }: HoldRequest) {
    if (purses.length === 0) return NO_PURSES;
    const found: HeldPurse[] = [];
    for (const { name, limitMicroVnd } of purses) {
      const purse = this.wallets.get(accountId, name);
      if (purse === undefined) return undefined;
      found.push({ name, purse, limitMicroVnd });
    }
    return found;
  }

  /** Returns the purses of a post without a hold; undefined if one is not loaded. */
  private pursesOfPost({ accountId, purses }: Posting): readonly Wallet[] | undefined {
    if (purses === null || purses.length === 0) return NO_PURSES;
    const found = purses.flatMap((name) => this.wallets.get(accountId, name) ?? NO_PURSES);
    return found.length === purses.length ? found : undefined;
  }

  /** Undoes `charge`. Valid only if nothing changed the wallet since. */
  private takeBack({ posting, wallet, purses, hold, chargedMicroVnd }: Charge): void {
    if (wallet) charge(wallet, purses, -chargedMicroVnd, -(hold?.amountMicroVnd ?? 0));
    if (hold !== undefined) this.holds.set(posting.callId, hold);
  }

  /**
   * Writes charges to the journal with one write, then adds them to the outbox. If the write fails, no call is posted
   * and the holds stay; then tries each call by itself, since some may still fit.
   */
  private appendAll(charges: readonly Charge[]): (Posted | Error)[] {
    if (charges.length === 0) return [];
    let position: number;
    try {
      position = this.posted.append(charges.map(({ text }) => text));
    } catch (error) {
      for (const each of charges.toReversed()) this.takeBack(each);
      if (charges.length === 1) return [errorOf(error)];
      return charges.flatMap(({ posting }) => this.postAll([posting]));
    }
    return charges.map(({ posting, chargedMicroVnd, writtenOffMicroVnd, text }, at) => {
      const entryId = String(position + at);
      this.posted.add({ entryId, posting, chargedMicroVnd, writtenOffMicroVnd, text });
      return { chargedMicroVnd, writtenOffMicroVnd, duplicate: false };
    });
  }
}

function pursesIn({ purses }: Hold): readonly Wallet[] {
  return purses.length === 0 ? NO_PURSES : purses.map(({ purse }) => purse);
}
