import { type Machine, systemMachine } from "../process/machine.ts";
import { messageOf } from "../process/thrown.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import { type FoundCall, findCall } from "./found-call.ts";
import type {
  Awaitable,
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  HoldResult,
  HoldStore,
  Posted,
} from "./hold-store.ts";
import { LatePosts } from "./late-posts.ts";
import type { CreditResult, Ledger, ProofProgress, TopUpQuery, TopUpSums } from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { Movements, type WalletDebit } from "./movements.ts";
import type { DebitEntry, Movement, Posting } from "./outbox-entry.ts";
import { PostGroup } from "./post-group.ts";
import { loadWithPurses, requirePurses } from "./purse.ts";
import { reconcile } from "./reconcile.ts";
import type { StandingCall } from "./standing.ts";
import type { PurseBalances, ReconcileRow, WalletBalances, WalletHold, Wallets } from "./wallet.ts";

const LOAD_ATTEMPTS = 3;

interface WalletsOptions {
  readonly holdStore: HoldStore;
  readonly ledger: Ledger;
  readonly machine?: Machine;
}

/** Wallets over both stores: the hold store for running calls, the ledger for what is committed. */
export class StoredWallets implements Wallets {
  private readonly holdStore: HoldStore;
  private readonly ledger: Ledger;
  private readonly machine: Machine;
  private readonly group: PostGroup;
  /** The last unfinished movement of each account. The next one waits for it. */
  private readonly running = new Map<string, Promise<unknown>>();
  private readonly movements: Movements;
  private readonly latePosts: LatePosts;

  constructor({ holdStore, ledger, machine = systemMachine }: WalletsOptions) {
    this.holdStore = holdStore;
    this.ledger = ledger;
    this.machine = machine;
    this.group = new PostGroup(holdStore);
    const debit = this.debit.bind(this);
    this.movements = new Movements({ holdStore, ledger, machine, debit });
    this.latePosts = new LatePosts(holdStore, machine);
  }

  /**
   * Applies movements to loaded wallets that another process committed, and did not apply before it died: now, and from
   * time to time until `end`.
   */
  start(): Promise<void> {
    return this.movements.start();
  }

  /** See `Wallets.hold`. */
  hold(request: HoldRequest): Awaitable<WalletHold> {
    if (request.purses !== undefined) requirePurses(request.purses);
    const held = this.holdStore.hold(request);
    if (held instanceof Promise) return held.then((result) => this.loaded(request, result));
    return this.loaded(request, held);
  }

  extend(request: ExtendRequest): Awaitable<ExtendResult> {
    return this.holdStore.extend(request);
  }

  post(posting: Posting): Awaitable<Posted> {
    return this.group.add(posting);
  }

  postLater(posting: Posting): void {
    this.latePosts.add(posting);
  }

  /** Tries once more to post the calls that the disk refused. For a process that stops. Never rejects. */
  async end(): Promise<void> {
    this.movements.stop();
    await withTimeout(this.latePosts.tryAll(), LIFETIMES.lastPostsMs, this.machine);
  }

  /** Returns the posts that only this memory has: they are lost with this process. */
  latePostsLeft(): StandingCall[] {
    return this.latePosts.unsent();
  }

  unsent(): StandingCall[] {
    return [...this.holdStore.unsent(), ...this.latePosts.unsent()];
  }

  void(callId: string, accountId: string): Awaitable<void> {
    return this.holdStore.void(callId, accountId);
  }

  /** Rejects if a store is unavailable. To complete the movement, send it again with the same reference. */
  credit(movement: Movement): Promise<CreditResult> {
    return this.oneAtATime(movement.accountId, () => this.movements.move(movement));
  }

  async purse(accountId: string, name: string): Promise<PurseBalances> {
    const loaded = await this.holdStore.balances(accountId, name);
    if (loaded !== undefined) {
      const { availableMicroVnd, heldMicroVnd } = loaded;
      return { spentMicroVnd: 0 - availableMicroVnd - heldMicroVnd, heldMicroVnd };
    }
    const purse = await this.ledger.purse(accountId, name);
    return { spentMicroVnd: 0 - Number(purse?.balanceMicroVnd ?? 0n), heldMicroVnd: 0 };
  }

  /** Returns the parts of a wallet: from the hold store if it is loaded, else from the ledger. */
  async balances(accountId: string): Promise<WalletBalances | undefined> {
    const loaded = await this.holdStore.balances(accountId);
    if (loaded !== undefined) {
      const balance = loaded.availableMicroVnd + loaded.heldMicroVnd + loaded.uncommittedMicroVnd;
      return { ...loaded, balanceMicroVnd: balance };
    }
    const wallet = await this.ledger.wallet(accountId);
    if (wallet === undefined) return undefined;
    const balance = Number(wallet.balanceMicroVnd);
    return {
      availableMicroVnd: balance,
      heldMicroVnd: 0,
      uncommittedMicroVnd: 0,
      balanceMicroVnd: balance,
    };
  }

  call(callId: string): Promise<FoundCall | undefined> {
    return findCall(this.holdStore, this.ledger, callId);
  }

  /** Yields every wallet and purse with its drift, which must be 0, even under load. */
  reconcile(options: { readonly isQuick?: boolean } = {}): AsyncIterable<ReconcileRow> {
    return reconcile(this.holdStore, this.ledger, this.machine, options);
  }

  topUps(query: TopUpQuery): Promise<TopUpSums> {
    return this.ledger.topUps(query);
  }

  prove(options: { readonly isRestart?: boolean } = {}): Promise<ProofProgress> {
    return this.ledger.prove(options);
  }

  /** Returns the result of a hold. If its wallet or a purse is not loaded, loads them and holds again. */
  private loaded(request: HoldRequest, result: HoldResult): Awaitable<WalletHold> {
    if (result.kind !== "unknown") return result;
    const purses = (request.purses ?? []).map(({ name }) => name);
    return this.loadFor(request.accountId, purses, () => this.holdStore.hold(request));
  }

  private async debit(entry: DebitEntry): Promise<WalletDebit> {
    const result = await this.holdStore.debit(entry);
    if (result.kind !== "unknown") return result;
    return this.loadFor(entry.call.accountId, [], () => this.holdStore.debit(entry));
  }

  private async loadFor<Done extends { readonly kind: string }>(
    accountId: string,
    purses: readonly string[],
    again: () => Awaitable<Done | { readonly kind: "unknown" }>,
  ): Promise<Exclude<Done, { kind: "unknown" }> | NotLoaded> {
    const deadlineMs = this.machine.monotonic() + LIFETIMES.loadTimeoutMs;
    try {
      for (let attempt = 0; attempt < LOAD_ATTEMPTS; attempt += 1) {
        const leftMs = deadlineMs - this.machine.monotonic();
        const load = loadWithPurses(this.holdStore, this.ledger, accountId, purses);
        const loaded = await withTimeout(load, leftMs, this.machine);
        if (loaded === TIMED_OUT) break;
        if (!loaded) return { kind: "no_account" };
        const result = await again();
        if (isKnown(result)) return result;
      }
    } catch (error) {
      return unavailable(error);
    }
    return unavailable(`the load did not finish within ${LIFETIMES.loadTimeoutMs} ms`);
  }

  /** Runs the movements of an account one after another, so that they are applied in the order of their commits. */
  private async oneAtATime<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const before = this.running.get(accountId) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.running.set(accountId, mine);
    try {
      return await mine;
    } finally {
      if (this.running.get(accountId) === mine) this.running.delete(accountId);
    }
  }
}

type NotLoaded = Extract<WalletHold, { kind: "unavailable" | "no_account" }>;

function isKnown<Result extends { readonly kind: string }>(
  result: Result | { readonly kind: "unknown" },
): result is Exclude<Result, { kind: "unknown" }> {
  return result.kind !== "unknown";
}

function unavailable(cause: unknown): NotLoaded {
  const why = messageOf(cause);
  return { kind: "unavailable", reason: `cannot load the wallet: ${why}` };
}
