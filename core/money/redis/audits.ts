import type { CreditTotal } from "../../contract/hold-store.ts";
import type { Log } from "../../process/log.ts";
import type { Machine } from "../../process/machine.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { type MovementHold, movementOf } from "../movement-hold.ts";
import type { Bucket } from "./bucket.ts";
import type { Holds } from "./holds.ts";
import type { LedgerLookup } from "./ledger-lookup.ts";
import type { Membership } from "./membership.ts";
import type { MembershipTimes } from "./membership-options.ts";
import { asReply } from "./session.ts";
import type { RedisWallets } from "./wallets.ts";

/** Rounds between two audits of a bucket. */
const AUDIT_EVERY_ROUNDS = LIFETIMES.auditMs / LIFETIMES.heartbeatMs;

interface AuditsOptions {
  readonly memberships: ReadonlyMap<Bucket, Membership>;
  readonly holds: Holds;
  readonly wallets: RedisWallets;
  readonly ledger: LedgerLookup;
  /** `unownedMovementMs`: age at which the hold of a movement that no process has is ended. */
  readonly times: Pick<MembershipTimes, "unownedMovementMs">;
  readonly machine: Machine;
  readonly log: Log;
}

/** Ends the holds of calls that this process has lost, and those of movements that no process has. */
export class Audits {
  private readonly options: AuditsOptions;
  private readonly rounds = new Map<Bucket, number>();
  /** When this process first saw the hold of a movement that no process has; by bucket, then by call. */
  private readonly seen = new Map<Bucket, Map<string, number>>();

  constructor(options: AuditsOptions) {
    this.options = options;
  }

  /** Counts a round of a bucket that is ready, and audits it if it is time. Never rejects. */
  async round(bucket: Bucket): Promise<void> {
    const round = this.rounds.get(bucket) ?? 0;
    this.rounds.set(bucket, round + 1);
    if (round % AUDIT_EVERY_ROUNDS !== 0) return;
    // A failed audit is repeated by the next one.
    await this.audit(bucket).catch(() => {});
  }

  private async audit(bucket: Bucket): Promise<void> {
    const membership = this.options.memberships.get(bucket);
    if (!membership?.view?.hasHolds) return;
    const held = await membership.heldCalls();
    await this.options.holds.audit(bucket, held.own);
    await this.end(bucket, this.due(bucket, held.unowned));
  }

  /** Returns the holds whose movement no process can commit any more. */
  private due(bucket: Bucket, unowned: readonly MovementHold[]): MovementHold[] {
    const { machine, times } = this.options;
    const { unownedMovementMs = LIFETIMES.unownedMovementMs } = times;
    const nowMs = machine.monotonic();
    const before = this.seen.get(bucket);
    const seen = new Map(unowned.map(({ callId }) => [callId, before?.get(callId) ?? nowMs]));
    this.seen.set(bucket, seen);
    return unowned.filter(({ callId }) => nowMs - (seen.get(callId) ?? nowMs) >= unownedMovementMs);
  }

  /**
   * Ends the holds of movements by what the ledger has: takes the money from the wallet, or gives it back. Safe while
   * other gateways do the same, and while a movement is sent again.
   */
  private async end(bucket: Bucket, holds: readonly MovementHold[]): Promise<void> {
    const { ledger, wallets, log } = this.options;
    const committed = new Map<string, CreditTotal>();
    for (const hold of holds) {
      const { callId, accountId } = hold;
      const earlier = await ledger.credited(movementOf(hold));
      const isCommitted = earlier?.kind === "credited";
      if (isCommitted) {
        const before = committed.get(accountId)?.releasedCallIds ?? [];
        committed.set(accountId, { ...earlier.wallet, releasedCallIds: [...before, callId] });
      } else await bucket.run("void", [], [callId, ""], asReply);
      log.warn(
        { hold: callId, committed: isCommitted },
        "a gateway did not complete a movement; ending its hold, with or without the movement, as the ledger shows",
      );
    }
    // In one step for each account: a wallet may afford its movements only together.
    for (const total of committed.values()) await wallets.credit(total);
  }
}
