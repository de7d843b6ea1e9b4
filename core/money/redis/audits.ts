import type { Log } from "../../process/log.ts";
import type { Machine } from "../../process/machine.ts";
import type { CreditTotal } from "../hold-store.ts";
import { type MovementHold, movementOf } from "../movement-hold.ts";
import { asReply, type Bucket } from "./bucket.ts";
import type { RedisChanges } from "./changes.ts";
import type { Holds } from "./holds.ts";
import type { Membership } from "./membership.ts";
import type { LedgerLookup, StoreTimes } from "./store-options.ts";

interface AuditsOptions {
  readonly memberships: ReadonlyMap<Bucket, Membership>;
  readonly holds: Holds;
  readonly changes: RedisChanges;
  readonly ledger: LedgerLookup;
  /** Rounds between two audits of a bucket. */
  readonly everyRounds: number;
  /** `unownedMovementMs`: age at which the hold of a movement that no process has is ended. */
  readonly times: Pick<StoreTimes, "unownedMovementMs">;
  readonly machine: Machine;
  readonly log: Log;
}

/**
 * Ends the holds of calls that this process has lost, and those of movements that no process has. An audit reads the
 * holds of all processes in a bucket: 1 ms for 1,600. So that the cost does not grow with the square of the processes,
 * one of them reads a bucket at each audit, for the movements. The others read it if they may have lost a hold, and in
 * any case at every Pth audit of P processes.
 */
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
    const { everyRounds } = this.options;
    if (round % everyRounds !== 0) return;
    // A failed audit is repeated by the next one.
    await this.audit(bucket, round / everyRounds).catch(() => {});
  }

  private async audit(bucket: Bucket, count: number): Promise<void> {
    const { memberships, holds } = this.options;
    const membership = memberships.get(bucket);
    const { hasHolds = false } = membership?.view ?? {};
    const members = [...(membership?.view?.members.keys() ?? [])];
    const isAuditor = this.isAuditor(bucket, members);
    const isDue = isAuditor || holds.mayHaveLost(bucket) || count % members.length === 0;
    if (!membership || !hasHolds || !isDue) {
      this.seen.delete(bucket);
      return;
    }
    const { own, unowned } = await membership.heldCalls();
    await holds.audit(bucket, own);
    await this.end(bucket, this.due(bucket, isAuditor ? unowned : []));
  }

  /** True for one of the processes: only it sees for how long no process had the hold of a movement. */
  private isAuditor(bucket: Bucket, members: readonly string[]): boolean {
    const before = members.filter((process) => process < bucket.process).length;
    const index = [...this.options.memberships.keys()].indexOf(bucket);
    return before === index % members.length;
  }

  /** Returns the holds whose movement no process can commit any more. */
  private due(bucket: Bucket, unowned: readonly MovementHold[]): MovementHold[] {
    const { machine, times } = this.options;
    const { unownedMovementMs } = times;
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
    const { ledger, changes, log } = this.options;
    const { epoch } = bucket;
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
    for (const total of committed.values()) {
      // A reading from an earlier epoch is void: see `RedisChanges.credit`.
      if (bucket.epoch !== epoch) return;
      await changes.credit(total);
    }
  }
}
