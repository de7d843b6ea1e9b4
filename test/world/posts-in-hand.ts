import type { FaultName } from "./fault-names.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** Faults that may silence a gateway for a lease, or take calls out of the ledger: wallets are loaded without its posts. */
const SILENCING: readonly FaultName[] = ["freeze", "lockedOut", "ledgerRestored"];

interface InHand {
  readonly accountId: string;
  /** Counter of the epoch in which it was charged. */
  readonly epoch: number;
  readonly process: SimulatedProcess;
}

/**
 * Posts that Redis had charged and lost, while a living gateway still had them. No wallet may be loaded again before they are
 * in the ledger, or in Redis again: it would have money that is spent.
 */
export class PostsInHand {
  private readonly posts = new Map<string, InHand>();
  private lostMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly world: World) {}

  /**
   * Records posts that Redis lost; `startedMs` returns when a call began. Not those of a call that an earlier loss met: a gateway
   * that cannot reach the ledger posts it in the new epoch, and is not awaited when that ends too.
   */
  lost(callIds: readonly string[], startedMs: (callId: string) => number): void {
    const { gateways, plan, scheduler } = this.world;
    const { lostMs } = this;
    this.lostMs = scheduler.nowMs;
    if (SILENCING.some((fault) => plan.faults.has(fault))) return;
    for (const callId of callIds) {
      for (const { holdStore, process } of gateways) {
        const { posting, membership } = holdStore.findUncommitted(callId) ?? {};
        if (!posting || startedMs(callId) <= lostMs) continue;
        const [, epoch = ""] = membership?.split("|") ?? [];
        const { accountId } = posting;
        this.posts.set(callId, { accountId, epoch: counterOf(epoch), process });
      }
    }
  }

  /** Returns what is wrong at this moment. */
  problem(): string | undefined {
    const { ledger, redis } = this.world;
    for (const [callId, { accountId, epoch, process }] of this.posts) {
      if (!process.alive || ledger.books.hasCall(callId) || redis?.hasPost(callId))
        this.posts.delete(callId);
      else if (counterOf(redis?.epochOf(accountId)) > epoch && redis?.balancesOf(accountId))
        return `${accountId} is loaded again without call ${callId}, which ${process.name} has posted`;
    }
    return undefined;
  }
}

/** Returns the counter of an epoch's name; 0 without one. */
function counterOf(name = ""): number {
  return Number.parseInt(name, 10) || 0;
}
