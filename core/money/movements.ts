import { MICRO_VND_MAX } from "../catalogue/amount.ts";
import { failpoint } from "../process/failpoint.ts";
import type { Awaitable, HoldRequest, HoldStore, WalletSnapshot } from "./hold-store.ts";
import type { LateMovements } from "./late-movements.ts";
import type { Credit, CreditResult, Ledger } from "./ledger.ts";
import { MovementPending } from "./ledger.ts";
import { LIFETIMES } from "./lifetimes.ts";
import { movementHoldId } from "./movement-hold.ts";
import type { WalletHold } from "./wallet.ts";

interface MovementsOptions {
  readonly holdStore: HoldStore;
  readonly ledger: Ledger;
  readonly late: LateMovements;
  /** Holds money; loads the wallet first if needed. */
  readonly hold: (request: HoldRequest) => Awaitable<WalletHold>;
}

/** Moves money into and out of wallets: commits to the ledger, then applies to the hold store. */
export class Movements {
  private readonly holdStore: HoldStore;
  private readonly ledger: Ledger;
  private readonly late: LateMovements;
  private readonly hold: MovementsOptions["hold"];
  /** Holds of committed movements that stay until another movement is applied; by account. */
  private readonly unreleased = new Map<string, Set<string>>();

  constructor({ holdStore, ledger, late, hold }: MovementsOptions) {
    this.holdStore = holdStore;
    this.ledger = ledger;
    this.late = late;
    this.hold = hold;
  }

  /** See `Wallets.credit`. Run the movements of an account one after another. */
  move(movement: Credit): Promise<CreditResult> {
    return movement.amountMicroVnd < 0n ? this.takeAway(movement) : this.add(movement);
  }

  /**
   * Applies the ledger's state of a wallet. If that fails, retries in the background, and rejects with MovementPending.
   *
   * The state may include a movement with an unknown outcome, whose money is in a hold of its own. If the wallet does not
   * afford both, `releasedCallId` waits until that movement is completed, and is released with it. Redis completes it at
   * once, if the ledger has it. Then returns false.
   */
  async apply(wallet: WalletSnapshot, releasedCallId: string | null): Promise<boolean> {
    const { accountId, creditVersion, creditedMicroVnd } = wallet;
    const waiting = this.unreleased.get(accountId) ?? new Set();
    if (releasedCallId !== null) this.unreleased.set(accountId, waiting.add(releasedCallId));
    const releasedCallIds = [...waiting];
    const total = { accountId, creditVersion, creditedMicroVnd, releasedCallIds };
    try {
      const isApplied = await this.holdStore.credit(total);
      if (isApplied) this.released(accountId, releasedCallIds);
      return isApplied;
    } catch (error) {
      const applied = this.late.apply(accountId, releasedCallIds);
      void applied.then(() => this.released(accountId, releasedCallIds));
      throw new MovementPending({ cause: error });
    }
  }

  private released(accountId: string, callIds: readonly string[]): void {
    const waiting = this.unreleased.get(accountId);
    for (const callId of callIds) waiting?.delete(callId);
    if (waiting?.size === 0) this.unreleased.delete(accountId);
  }

  private async add(movement: Credit): Promise<CreditResult> {
    const result = await this.late.orLater(this.ledger.credit(movement), movement.accountId);
    if (result.kind === "credited") {
      failpoint("credit.committed");
      await this.apply(result.wallet, null);
      failpoint("credit.applied");
    }
    return result;
  }

  /**
   * Takes money away: holds it first, then commits. The ledger's balance still includes what running calls hold and
   * what is uncommitted, so a commit without a hold could take money that is already spent.
   *
   * If the outcome of the commit is unknown, the hold stays until a retry completes the movement. If this process dies,
   * another one ends the hold by what the ledger has. The ledger refuses the commit from `movementCommitMs` on, so a
   * process that was suspended cannot commit after its hold was ended.
   */
  private async takeAway(movement: Credit): Promise<CreditResult> {
    const { accountId } = movement;
    const callId = movementHoldId(movement);
    const earlier = await this.ledger.credited(movement);
    if (earlier !== undefined) return this.finish(earlier, accountId, callId);
    const amountMicroVnd = Number(-movement.amountMicroVnd);
    if (amountMicroVnd > MICRO_VND_MAX) return { kind: "below_zero" };
    const beforeMs = (await this.ledger.now()) + LIFETIMES.movementCommitMs;
    const amounts = { amountMicroVnd, floorMicroVnd: amountMicroVnd };
    const held = await this.hold({ callId, accountId, keyId: "", ...amounts });
    if (held.kind === "no_account") return { kind: "no_account" };
    if (held.kind === "short") return { kind: "below_zero" };
    if (held.kind !== "held") {
      throw new Error(held.kind === "unavailable" ? held.reason : "cannot hold the amount; retry");
    }
    failpoint("take.held");
    const committed = this.ledger.credit(movement, beforeMs);
    // If the outcome is unknown, complete it later, so that the hold does not stay forever.
    committed.catch(() => this.late.complete(movement, () => this.takeAway(movement)));
    return this.finish(await committed, accountId, callId);
  }

  private async finish(
    result: CreditResult,
    accountId: string,
    callId: string,
  ): Promise<CreditResult> {
    if (result.kind === "credited") {
      failpoint("take.committed");
      await this.apply(result.wallet, callId);
      failpoint("take.applied");
    } else await this.holdStore.void(callId, accountId);
    return result;
  }
}
