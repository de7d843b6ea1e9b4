import { type Machine, systemMachine } from "../process/machine.ts";
import { messageOf } from "../process/thrown.ts";
import { TIMED_OUT, withTimeout } from "../process/timeout.ts";
import { findCall } from "./found-call.ts";
import type { Awaitable, HoldRequest, HoldResult, HoldStore } from "./hold-store.ts";
import { LatePosts } from "./late-posts.ts";
import type { Ledger } from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { Movements, type WalletDebit } from "./movements.ts";
import type { DebitEntry } from "./outbox-entry.ts";
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

export interface StoredWallets extends Wallets {
  /**
   * Applies movements to loaded wallets that another process committed, and did not apply before it died: now, and from
   * time to time until `end`.
   */
  start(): Promise<void>;
  /** Tries once more to post the calls that the disk refused. For a process that stops. Never rejects. */
  end(): Promise<void>;
  /** Returns the posts that only this memory has: they are lost with this process. */
  latePostsLeft(): StandingCall[];
  unsent(): StandingCall[];
  /** Yields every wallet and purse with its drift, which must be 0, even under load. */
  reconcile(): AsyncIterable<ReconcileRow>;
}

/** Wallets over both stores: the hold store for running calls, the ledger for what is committed. */
export function createStoredWallets(options: WalletsOptions): StoredWallets {
  const { holdStore, ledger, machine = systemMachine } = options;
  const group = new PostGroup(holdStore);
  const movements = new Movements({ holdStore, ledger, machine, debit });
  const latePosts = new LatePosts(holdStore, machine);
  /** The last unfinished movement of each account. The next one waits for it. */
  const running = new Map<string, Promise<unknown>>();

  /** Returns the result of a hold. If its wallet or a purse is not loaded, loads them and holds again. */
  function loaded(request: HoldRequest, result: HoldResult): Awaitable<WalletHold> {
    if (result.kind !== "unknown") return result;
    const purses = (request.purses ?? []).map(({ name }) => name);
    return loadFor(request.accountId, purses, () => holdStore.hold(request));
  }

  async function debit(entry: DebitEntry): Promise<WalletDebit> {
    const result = await holdStore.debit(entry);
    if (result.kind !== "unknown") return result;
    return loadFor(entry.call.accountId, [], () => holdStore.debit(entry));
  }

  async function loadFor<Done extends { readonly kind: string }>(
    accountId: string,
    purses: readonly string[],
    again: () => Awaitable<Done | { readonly kind: "unknown" }>,
  ): Promise<Exclude<Done, { kind: "unknown" }> | NotLoaded> {
    const deadlineMs = machine.monotonic() + LIFETIMES.loadTimeoutMs;
    try {
      for (let attempt = 0; attempt < LOAD_ATTEMPTS; attempt += 1) {
        const leftMs = deadlineMs - machine.monotonic();
        const load = loadWithPurses(holdStore, ledger, accountId, purses);
        const isLoaded = await withTimeout(load, leftMs, machine);
        if (isLoaded === TIMED_OUT) break;
        if (!isLoaded) return { kind: "no_account" };
        const result = await again();
        if (isKnown(result)) return result;
      }
    } catch (error) {
      return unavailable(error);
    }
    return unavailable(`the load did not finish within ${LIFETIMES.loadTimeoutMs} ms`);
  }

  /** Runs the movements of an account one after another, so that they are applied in the order of their commits. */
  async function oneAtATime<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const before = running.get(accountId) ?? Promise.resolve();
    const mine = before.then(work, work);
    running.set(accountId, mine);
    try {
      return await mine;
    } finally {
      if (running.get(accountId) === mine) running.delete(accountId);
    }
  }

  return {
    start: () => movements.start(),
    hold(request) {
      if (request.purses !== undefined) requirePurses(request.purses);
      const held = holdStore.hold(request);
      if (held instanceof Promise) return held.then((result) => loaded(request, result));
      return loaded(request, held);
    },
    extend: (request) => holdStore.extend(request),
    post: (posting) => group.add(posting),
    postLater: (posting) => latePosts.add(posting),
    void: (callId, accountId) => holdStore.void(callId, accountId),
    credit: (movement) => oneAtATime(movement.accountId, () => movements.move(movement)),
    async purse(accountId, name): Promise<PurseBalances> {
      const found = await holdStore.balances(accountId, name);
      if (found !== undefined) {
        const { availableMicroVnd, heldMicroVnd } = found;
        return { spentMicroVnd: 0 - availableMicroVnd - heldMicroVnd, heldMicroVnd };
      }
      const purse = await ledger.purse(accountId, name);
      return { spentMicroVnd: 0 - Number(purse?.balanceMicroVnd ?? 0n), heldMicroVnd: 0 };
    },
    async balances(accountId): Promise<WalletBalances | undefined> {
      const found = await holdStore.balances(accountId);
      if (found !== undefined) {
        const balance = found.availableMicroVnd + found.heldMicroVnd + found.uncommittedMicroVnd;
        return { ...found, balanceMicroVnd: balance };
      }
      const wallet = await ledger.wallet(accountId);
      if (wallet === undefined) return undefined;
      const balance = Number(wallet.balanceMicroVnd);
      const nothing = { heldMicroVnd: 0, uncommittedMicroVnd: 0 };
      return { availableMicroVnd: balance, ...nothing, balanceMicroVnd: balance };
    },
    call: (callId) => findCall(holdStore, ledger, callId),
    topUps: (query) => ledger.topUps(query),
    reconcile: () => reconcile(holdStore, ledger, machine),
    unsent: () => [...holdStore.unsent(), ...latePosts.unsent()],
    latePostsLeft: () => latePosts.unsent(),
    async end() {
      movements.stop();
      await withTimeout(latePosts.tryAll(), LIFETIMES.lastPostsMs, machine);
    },
  };
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
