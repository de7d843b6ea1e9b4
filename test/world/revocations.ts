import type { SimulatedClient } from "./client.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

/** Once every fault is over, a gateway reads within this time which keys other gateways revoked. */
const READ_AGAIN_MS = 10_000;

interface Revocation {
  readonly atMs: number;
  readonly process: SimulatedProcess;
  /** True if its gateway was stopped when Redis lost the revocation, and could not tell it again. */
  wasStopped: boolean;
}

/** Checks that no gateway sells to a key after its revocation resolved. */
export class Revocations {
  private readonly first = new Map<string, Revocation>();
  private redisLostMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly world: World) {}

  add(keyId: string, process: SimulatedProcess): void {
    if (!this.first.has(keyId))
      this.first.set(keyId, { atMs: this.world.scheduler.nowMs, process, wasStopped: false });
  }

  /** Records that Redis lost data. */
  lostByRedis(): void {
    this.redisLostMs = this.world.scheduler.nowMs;
    for (const revocation of this.first.values()) {
      if (revocation.process.frozen) revocation.wasStopped = true;
    }
  }

  /** Forgets the revocations that a restored backup lacks. The operator revokes such a key again. */
  lostByLedger(): void {
    const { revokedKeys } = this.world.ledger.books;
    for (const keyId of this.first.keys()) if (!revokedKeys.has(keyId)) this.first.delete(keyId);
  }

  problem({ plan, startedMs, deliveredTokens }: SimulatedClient, name: string): string | undefined {
    const revocation = this.first.get(plan.keyId);
    if (!revocation || startedMs <= revocation.atMs || deliveredTokens === 0) return undefined;
    const { ledger, plan: world } = this.world;
    // The operator's loss: a backup without the revocation was restored.
    if (!ledger.books.revokedKeys.has(plan.keyId)) return undefined;
    // README, limits of the guarantees: Redis loses its data, and the gateway that revoked the key is gone or stopped.
    const isGone = !revocation.process.alive || revocation.wasStopped;
    const isLost = this.redisLostMs > revocation.atMs && isGone;
    if (isLost && startedMs < world.loadMs + READ_AGAIN_MS) return undefined;
    return `${name} was sold to ${plan.keyId}, which was revoked ${startedMs - revocation.atMs} ms before`;
  }
}
