import { MICRO_VND_MAX } from "../catalogue/amount.ts";
import { failpoint } from "../process/failpoint.ts";
import { type Machine, sleep } from "../process/machine.ts";
import { debitOf } from "./debit.ts";
import type { DebitResult, HoldStore, WalletSnapshot } from "./hold-store.ts";
import { type CreditResult, type Ledger, MovementPending } from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import type { DebitEntry, Movement } from "./outbox-entry.ts";

interface MovementsOptions {
  readonly holdStore: HoldStore;
  readonly ledger: Ledger;
  readonly machine: Machine;
  /** See `HoldStore.debit`; loads the wallet first if needed. */
  readonly debit: (entry: DebitEntry) => Promise<WalletDebit>;
}

export type WalletDebit =
  | Exclude<DebitResult, { kind: "unknown" }>
  /** The ledger has no such account. */
  | { readonly kind: "no_account" };

const CATCH_UP_ATTEMPTS = LIFETIMES.catchUpMs / LIFETIMES.catchUpRetryMs;

/**
 * Moves money into and out of wallets. A movement that adds money is committed to the ledger, then applied to the hold store.
 * One that takes it away is posted like a call, and reaches the ledger through the outbox.
 *
 * The ledger may have movements that no process applied: the one that sent them died, or lost its connection, and a slow ledger commits after every other process has started. So a start and each look apply what is missing.
 */
export class Movements {
  /** Accounts whose wallet is applied again soon. */
  private readonly behind = new Set<string>();
  /** The ledger was complete through this time at the last catch-up or look that succeeded. */
  private seenThroughMs: number | undefined;
  /** The versions that the last look found, and that need not be applied again; by account. */
  private found: ReadonlyMap<string, string> = new Map();
  private isWatching = false;

  constructor(private readonly options: MovementsOptions) {}

  /** Applies what loaded wallets lack, and looks for more from now on, until `stop`. */
  async start(): Promise<void> {
    await this.catchUpFirst();
    this.isWatching = true;
    void this.lookAgain();
  }

  stop(): void {
    this.isWatching = false;
  }

  /** See `Wallets.credit`. */
  move(movement: Movement): Promise<CreditResult> {
    return movement.amountMicroVnd < 0n ? this.takeAway(movement) : this.add(movement);
  }

  /**
   * Returns the result of a commit. If its outcome is unknown, later applies the state that the ledger has of the wallet by
   * then. Still rejects.
   */
  async orLater<T>(committed: Promise<T>, accountId: string): Promise<T> {
    try {
      return await committed;
    } catch (error) {
      void this.applyLater(accountId);
      throw error;
    }
  }

  /** Applies the ledger's state of a wallet to the hold store, until that succeeds. Never rejects. */
  async applyLater(accountId: string): Promise<void> {
    while (!this.behind.has(accountId)) {
      this.behind.add(accountId);
      await sleep(this.options.machine, LIFETIMES.applyRetryMs, { unref: true });
      // A movement that fails from here on is applied by another turn: this one may read the wallet too early.
      this.behind.delete(accountId);
      if (await succeeds(() => this.applyNewest(accountId))) return;
    }
  }

  private async add(movement: Movement): Promise<CreditResult> {
    const { accountId } = movement;
    const result = await this.orLater(this.options.ledger.credit(movement), accountId);
    if (result.kind !== "credited") return result;
    failpoint("credit.committed");
    await this.applyOrLater(result.wallet);
    failpoint("credit.applied");
    return result;
  }

  private async applyOrLater(wallet: WalletSnapshot): Promise<void> {
    try {
      await this.orLater(this.apply(wallet), wallet.accountId);
    } catch (cause) {
      const text = "the ledger has the movement; the hold store applies it later";
      throw new MovementPending(text, { cause });
    }
  }

  /**
   * Posts the amount like the cost of a call, whole or not at all: the ledger's balance still includes what running calls hold
   * and what is uncommitted. Returns once the ledger has it. If this process dies, another one commits the post. Only the
   * version is applied then: calls that were priced before are stale.
   */
  private async takeAway(movement: Movement): Promise<CreditResult> {
    const { ledger, machine, debit } = this.options;
    const earlier = await ledger.credited(movement);
    if (earlier?.kind === "credited") await this.applyOrLater(earlier.wallet);
    if (earlier !== undefined) return earlier;
    if (-movement.amountMicroVnd > MICRO_VND_MAX) return { kind: "below_zero" };
    const entry = debitOf(movement, machine.now());
    // Its money has left the wallet: another post would take it again.
    if ((await ledger.quarantinedCall(entry.call.callId)) !== undefined)
      throw new MovementPending(
        `the movement waits in quarantine; \`quarantine retry --call ${entry.call.callId}\` commits it`,
      );
    const posted = await debit(entry);
    // Another gateway may have posted and committed it since.
    if (posted.kind === "short") return (await ledger.credited(movement)) ?? { kind: "below_zero" };
    if (posted.kind === "no_account") return posted;
    if (posted.kind === "unavailable") throw new Error(posted.reason);
    failpoint("debit.posted");
    const result = await this.committed(movement);
    failpoint("debit.committed");
    if (result.kind !== "credited") return result;
    await this.applyOrLater(result.wallet);
    return { ...result, applied: !posted.duplicate };
  }

  private async committed(movement: Movement): Promise<CreditResult> {
    const { ledger, machine } = this.options;
    const untilMs = machine.monotonic() + LIFETIMES.debitWaitMs;
    for (;;) {
      await sleep(machine, LIFETIMES.debitPollMs);
      const result = await ledger.credited(movement).catch(() => undefined);
      if (result !== undefined) return result;
      if (machine.monotonic() > untilMs)
        throw new MovementPending("the movement has not reached the ledger yet; send it again");
    }
  }

  private async apply(wallet: WalletSnapshot): Promise<boolean> {
    const { accountId, creditVersion, creditedMicroVnd } = wallet;
    return this.options.holdStore.credit({ accountId, creditVersion, creditedMicroVnd });
  }

  /** Returns false if the wallet affords the movements only together with later ones. */
  private async applyNewest(accountId: string): Promise<boolean> {
    const wallet = await this.options.ledger.wallet(accountId);
    if (wallet === undefined) return true;
    return this.apply(wallet);
  }

  private async catchUpFirst(): Promise<void> {
    const { holdStore, machine } = this.options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.catchUp();
      } catch (error) {
        const { kind } = holdStore.health();
        // A short outage of a store is no reason to fail the start.
        const isLast = attempt >= CATCH_UP_ATTEMPTS;
        // The hold store has decided that a start may go on without some of its nodes. And if the ledger went back, the start
        // must end, so that an operator can restore.
        if (kind === "impaired" || holdStore.ledgerWentBack() || (kind === "away" && isLast))
          return void this.catchUpLater();
        if (isLast) throw error;
        await sleep(machine, LIFETIMES.catchUpRetryMs);
      }
    }
  }

  private async catchUpLater(): Promise<void> {
    do await sleep(this.options.machine, LIFETIMES.applyRetryMs, { unref: true });
    while (!(await succeeds(() => this.catchUp())));
  }

  /** Applies what the ledger has and loaded wallets lack. */
  private async catchUp(): Promise<void> {
    const { holdStore, ledger } = this.options;
    const completeMs = await ledger.completeThrough();
    for await (const page of holdStore.loadedVersions()) {
      if (page.length === 0) continue;
      const newer = await ledger.newerWallets(page);
      await Promise.all(newer.map(({ accountId }) => this.applyNewest(accountId)));
    }
    this.seenThroughMs = completeMs;
  }

  private async lookAgain(): Promise<void> {
    while (this.isWatching) {
      await sleep(this.options.machine, LIFETIMES.missedLookMs, { unref: true });
      // The look after one that failed goes back as far, and trusts no earlier one: the ledger may have been restored.
      if (this.isWatching) await this.look().catch(() => (this.found = new Map()));
    }
  }

  private async look(): Promise<void> {
    const { ledger } = this.options;
    const completeMs = await ledger.completeThrough();
    const sinceMs = Math.min(completeMs, this.seenThroughMs ?? completeMs) - LIFETIMES.missedBackMs;
    const found = new Map<string, string>();
    for (const wallet of await ledger.movedWallets(sinceMs)) {
      const { accountId, creditVersion, creditedMicroVnd } = wallet;
      const text = `${creditVersion} ${creditedMicroVnd}`;
      if (this.found.get(accountId) === text || (await this.applySoon(accountId)))
        found.set(accountId, text);
    }
    this.found = found;
    this.seenThroughMs = completeMs;
  }

  /** A wallet that cannot be reached is applied later. It does not keep a look from the wallets after it. */
  private async applySoon(accountId: string): Promise<boolean> {
    try {
      return await this.applyNewest(accountId);
    } catch {
      void this.applyLater(accountId);
      return true;
    }
  }
}

function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  return work().then(
    () => true,
    () => false,
  );
}
