import type { MicroVnd } from "../../catalogue/amount.ts";
import { listOf, mapOf, numberOf, textOf } from "../../redis/reply.ts";

/** A bucket at one moment, as `look` of `epoch.lua` returns it. */
export interface View {
  /** `<counter>-<random>`; "" if the bucket has no epoch: it is new, or Redis was wiped. */
  readonly epoch: string;
  /** Count of this gateway's operations in this epoch; -1 if it is not a member. */
  readonly operations: number;
  /** True if another gateway ended the leases of this one in this epoch. */
  readonly isReaped: boolean;
  /** The server, `<run_id> <address of its Lua> <replication id>`: another after a restart, and after each promotion. */
  readonly server: string;
  /** The server on which the epoch began. */
  readonly epochServer: string;
  /** True if wallets may be loaded. */
  readonly isOpen: boolean;
  /** Heartbeats of the members. */
  readonly members: ReadonlyMap<string, string>;
  /** Heartbeats of gateways that have not entered the epoch yet. */
  readonly joining: ReadonlyMap<string, string>;
  /**
   * Outboxes of gateways that left or died, `epoch|gateway`, each with `<claimer> <length>`: the gateway that claimed it (""
   * for none), and its entries that are not committed.
   */
  readonly orphans: ReadonlyMap<string, string>;
  /** True if an outbox of an earlier epoch is not committed yet. */
  readonly hasEarlierOutbox: boolean;
  /** True if Redis refused the heartbeat at first, for want of memory. */
  readonly isFull: boolean;
}

export function readView(reply: unknown): View {
  const [
    epoch,
    operations,
    reaped,
    server,
    epochServer,
    open,
    members,
    joining,
    orphans,
    earlier,
    full,
  ] = listOf(reply);
  return {
    epoch: textOf(epoch),
    operations: numberOf(operations),
    isReaped: reaped === 1,
    server: textOf(server),
    epochServer: textOf(epochServer),
    isOpen: open === 1,
    members: mapOf(members),
    joining: mapOf(joining),
    orphans: mapOf(orphans),
    hasEarlierOutbox: earlier === 1,
    isFull: full === 1,
  };
}

/** Parses an amount of µđ, which scripts return as digits: see `money.lua`. */
export function amountOf(reply: unknown): MicroVnd {
  return Number(textOf(reply));
}
