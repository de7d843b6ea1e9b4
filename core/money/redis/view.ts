import { listOf, mapOf, numberOf, textOf } from "../../redis/reply.ts";

/** The state of a bucket at one moment, as `look.lua` returns it. */
export interface BucketView {
  /** Ms since 1970, as text; "" if the bucket has no epoch: it is new, or Redis was wiped. */
  readonly epoch: string;
  /** Count of this process's operations in this epoch; -1 if it is not a member. */
  readonly operations: number;
  /** True if another process ended the leases of this one. */
  readonly reaped: boolean;
  /** True if wallets may be loaded. */
  readonly acceptsLoads: boolean;
  /** The members as last listed: the server lists them only if they changed, or if it is asked to. */
  readonly members: readonly Member[];
  /** True if the server listed the members: their heartbeats are current. */
  readonly isListed: boolean;
  /** True if the server named the members that changed, and so all are known. */
  readonly isUpdated: boolean;
  /** Heartbeats by process, of processes that commit posts of earlier epochs before they join. */
  readonly joining: ReadonlyMap<string, string>;
  /** Outboxes of processes that left or died, `epoch|process`, each with the process that claimed it ("" for none). */
  readonly orphans: ReadonlyMap<string, string>;
  /** The server, `<run_id> <address of its Lua> <replication id>`: another after a restart, and after each promotion. */
  readonly server: string;
  /** True if there is a hold of any process. */
  readonly hasHolds: boolean;
  /** The version of the epoch, the members, the orphans and the loads together; "" if Redis was wiped. */
  readonly version: string;
  /** The edition of the ledger's counts that the wallets rest on: only for a process in no epoch. "" if they rest on none. */
  readonly edition: string;
}

/**
 * Returns true for an epoch without members. It may come from an old snapshot, taken while no gateway ran: then no process
 * can tell that later operations are missing.
 */
export function isAbandoned({ epoch, members, joining }: BucketView): boolean {
  return epoch !== "" && members.length === 0 && joining.size === 0;
}

export interface Member {
  readonly process: string;
  readonly beat: string;
  /** True if this member has found its count of operations right since the server's last start. */
  readonly verified: boolean;
}

/** `known`: the members that this process knows, which a reply without a list confirms. */
export function readView(reply: unknown, known: readonly Member[] = []): BucketView {
  const [
    epoch,
    operations,
    reaped,
    acceptsLoads,
    members,
    joining,
    orphans,
    server,
    version,
    holds,
    changes,
    edition,
  ] = listOf(reply);
  const isUpdated = members === null && changes !== null;
  const updated = isUpdated ? updatedMembers(known, listOf(changes)) : known;
  return {
    epoch: textOf(epoch),
    operations: numberOf(operations),
    reaped: reaped === 1,
    acceptsLoads: acceptsLoads === 1,
    members: members === null ? updated : listOf(members).map(memberOf),
    isListed: members !== null,
    isUpdated,
    joining: mapOf(joining),
    orphans: mapOf(orphans),
    server: textOf(server),
    version: textOf(version),
    hasHolds: holds === 1,
    edition: textOf(edition),
  };
}

/** Returns the members after `changes`: some of them with their state now, and others, without one, that are gone. */
function updatedMembers(known: readonly Member[], changes: readonly unknown[]): readonly Member[] {
  const members = new Map(known.map((member) => [member.process, member]));
  for (const change of changes) {
    const process = textOf(listOf(change)[0]);
    members.delete(process);
    if (listOf(change).length > 1) members.set(process, memberOf(change));
  }
  return [...members.values()];
}

function memberOf(member: unknown): Member {
  const [process, beat, verified] = listOf(member);
  return { process: textOf(process), beat: textOf(beat), verified: verified === "1" };
}

/** Parses an amount of µđ, which scripts return as digits: see `money.lua`. */
export function amountOf(reply: unknown): number {
  return Number(textOf(reply));
}
