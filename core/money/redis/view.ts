import { listOf, mapOf, numberOf, textOf } from "../../redis/reply.ts";

/** What a process sees of a bucket: see `look.lua`. */
export interface BucketView {
  /** Milliseconds since the Unix epoch, as text; "" where the bucket has none: it is new, or was wiped. */
  readonly epoch: string;
  readonly ageMs: number;
  /** Operations that this process has done in this epoch; -1 where it is no member. */
  readonly operations: number;
  /** Its leases have ended because it was silent. */
  readonly reaped: boolean;
  /** Wallets may be loaded. */
  readonly acceptsLoads: boolean;
  readonly members: readonly Member[];
  /** Heartbeats of processes that commit posts of earlier epochs before they join. */
  readonly joining: ReadonlyMap<string, string>;
  /** Outboxes without a process, `epoch|process`, and who has claimed each. */
  readonly orphans: ReadonlyMap<string, string>;
}

interface Member {
  readonly process: string;
  readonly beat: string;
  /** It has found everything it did, since the server's last start. */
  readonly verified: boolean;
}

export function readView(reply: unknown): BucketView {
  const [epoch, ageMs, operations, reaped, acceptsLoads, members, joining, orphans] = listOf(reply);
  return {
    epoch: textOf(epoch),
    ageMs: numberOf(ageMs),
    operations: numberOf(operations),
    reaped: reaped === 1,
    acceptsLoads: acceptsLoads === 1,
    members: listOf(members).map((member) => {
      const [process, beat, verified] = listOf(member);
      return { process: textOf(process), beat: textOf(beat), verified: verified === "1" };
    }),
    joining: mapOf(joining),
    orphans: mapOf(orphans),
  };
}

/** An amount of µđ, which scripts write in digits: see `money.lua`. */
export function amountOf(reply: unknown): number {
  return Number(textOf(reply));
}
