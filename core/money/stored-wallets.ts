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
  LimitBalances,
  Posted,
} from "./hold-store.ts";
import { LatePosts } from "./late-posts.ts";
import type {
  CreditResult,
  Ledger,
  LimitChange,
  LimitChangeResult,
  ProofProgress,
  TopUpQuery,
  TopUpSums,
} from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { LimitChanges } from "./limit-changes.ts";
import { Movements, type WalletDebit } from "./movements.ts";
import type { DebitEntry, Movement, Posting } from "./outbox-entry.ts";
import { PostGroup } from "./post-group.ts";
import { reconcile } from "./reconcile.ts";
import type { StandingCall } from "./standing.ts";
import type { ReconcileRow, WalletBalances, WalletHold, Wallets } from "./wallet.ts";

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
  private readonly limits: LimitChanges;

  constructor({ holdStore, ledger, machine = systemMachine }: WalletsOptions) {
    this.holdStore = holdStore;
    this.ledger = ledger;
    this.machine = machine;
    this.group = new PostGroup(holdStore);
    const debit = this.debit.bind(this);
    this.movements = new Movements({ holdStore, ledger, machine, debit });
    const { movements } = this;
    this.latePosts = new LatePosts(holdStore, machine);
    this.limits = new LimitChanges({ holdStore, ledger, machine, movements });
  }

  /**
   * Applies movements to loaded wallets that another process committed, and did not apply before it died: now, and from
   * time to time until `end`.
   */
  start(): Promise<void> {
    return this.movements.start();
  }

  /** See `HoldStore.hold`. Loads the wallet from the ledger first if needed. */
  hold(request: HoldRequest): Awaitable<WalletHold> {
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

  changeLimit(change: LimitChange): Promise<LimitChangeResult> {
    return this.oneAtATime(change.accountId, () => this.limits.change(change));
  }

  removeLimit(accountId: string, name: string): Promise<boolean> {
    return this.oneAtATime(accountId, () => this.limits.remove(accountId, name));
  }

  limit(accountId: string, name: string): Promise<LimitBalances | undefined> {
    return this.limits.left(accountId, name);
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

  /** Yields every wallet and limit with its drift, which must be 0, even under load. */
  reconcile(options: { readonly isQuick?: boolean } = {}): AsyncIterable<ReconcileRow> {
    return reconcile(this.holdStore, this.ledger, this.machine, options);
  }

  topUps(query: TopUpQuery): Promise<TopUpSums> {
    return this.ledger.topUps(query);
  }

  prove(options: { readonly isRestart?: boolean } = {}): Promise<ProofProgress> {
    return this.ledger.prove(options);
  }

  /** Returns the result of a hold. If its wallet or a limit is not loaded, loads it and holds again. */
  private loaded(request: HoldRequest, result: HoldResult): Awaitable<WalletHold> {
    return result.kind === "unknown" || result.kind === "no_limit"
      ? this.loadFor(request.accountId, result, () => this.holdStore.hold(request))
      : result;
  }

  private async debit(entry: DebitEntry): Promise<WalletDebit> {
    const result = await this.holdStore.debit(entry);
    if (result.kind !== "unknown") return result;
    return this.loadFor(entry.call.accountId, result, () => this.holdStore.debit(entry));
  }

  private async loadFor<Done extends { readonly kind: string }>(
    accountId: string,
    first: Unloaded,
    again: () => Awaitable<Done | Unloaded>,
  ): Promise<Done | NotLoaded> {
    const deadlineMs = this.machine.monotonic() + LIFETIMES.loadTimeoutMs;
    let unknown = first;
    try {
      for (let attempt = 0; attempt < LOAD_ATTEMPTS; attempt += 1) {
        const leftMs = deadlineMs - this.machine.monotonic();
        const loaded = await withTimeout(
          this.loadMissing(accountId, unknown),
          leftMs,
          this.machine,
        );
        if (loaded === TIMED_OUT) break;
        if (loaded !== "loaded") return loaded;
        const result = await again();
        if (!isUnloaded(result)) return result;
        unknown = result;
      }
    } catch (error) {
      return unavailable(error);
    }
    return unavailable(`the load did not finish within ${LIFETIMES.loadTimeoutMs} ms`);
  }

  private async loadMissing(accountId: string, unknown: Unloaded): Promise<"loaded" | NotLoaded> {
    if (unknown.kind === "unknown") {
      return (await this.loadWallet(accountId)) ? "loaded" : { kind: "no_account" };
    }
    // The limit is committed, but not applied: the process that committed it died, or could not reach the hold store.
    const wallet = await this.ledger.wallet(accountId);
    const limit = wallet?.limits?.find(({ name }) => name === unknown.limit);
    if (limit === undefined) {
      return { kind: "unavailable", reason: `the ledger has no limit ${unknown.limit}` };
    }
    await this.holdStore.setLimit(accountId, limit);
    return "loaded";
  }

  private loadWallet(accountId: string): Promise<boolean> {
    return this.holdStore.load(accountId, () => this.ledger.wallet(accountId));
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

type Unloaded = Extract<HoldResult, { kind: "unknown" | "no_limit" }>;
type NotLoaded = Extract<WalletHold, { kind: "unavailable" | "no_account" }>;

function isUnloaded(result: { readonly kind: string }): result is Unloaded {
  return result.kind === "unknown" || result.kind === "no_limit";
}

function unavailable(cause: unknown): NotLoaded {
  const why = messageOf(cause);
  return { kind: "unavailable", reason: `cannot load the wallet: ${why}` };
}
