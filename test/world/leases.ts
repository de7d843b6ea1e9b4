import type { World } from "./world.ts";

/** A look at Redis shows leases that ended within this time. */
const SHOWN_MS = 500;

/** Checks that no gateway ends the leases of one that runs: it would lose the holds of its calls. */
export class Leases {
  private readonly ended = new Set<string>();

  constructor(private readonly world: World) {}

  /** Returns what is wrong at this moment. Called each `SHOWN_MS`. */
  problem(): string | undefined {
    const { redis, gateways, scheduler, plan } = this.world;
    // A gateway at the side of an old primary is silent for the others.
    if (plan.faults.has("redisSplit")) return undefined;
    const sinceMs = scheduler.nowMs - plan.leaseMs - SHOWN_MS;
    for (const id of redis?.endedLeases() ?? []) {
      if (this.ended.has(id)) continue;
      this.ended.add(id);
      // An id is a UUID, `~1` after its lease ended once.
      const [first = ""] = id.split("~");
      const gateway = gateways.find(({ process }) => process.ids.has(first));
      if (gateway?.process.hasRunSince(sinceMs))
        return `${gateway.process.name} has lost its leases, and was never silent`;
    }
    return undefined;
  }
}
