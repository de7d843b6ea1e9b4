import type { MicroVnd } from "../catalogue/amount.ts";
import type { PostedUsage } from "./usage-fields.ts";

/** The charge and the usage record of a call that has ended. Never any content. */
export interface Posting extends PostedUsage {
  /** The computed cost; the wallet may cover less. `limits` names the limits of the call's hold. */
  readonly costMicroVnd: MicroVnd;
}

export interface OutboxEntry {
  /** Position in the outbox, in the store's own form. */
  readonly entryId: string;
  readonly posting: Posting;
  readonly chargedMicroVnd: MicroVnd;
  readonly writtenOffMicroVnd: MicroVnd;
  /** The entry without its position, as `encodeEntry` wrote it. */
  readonly text: string;
  readonly membership?: Membership;
}

/**
 * With Redis, the gateway that commits an entry, and the epoch in which it read it: `<bucket>|<epoch>|<gateway>`. The
 * ledger refuses the commit once that gateway is not a member of it.
 */
type Membership = string;

/** An entry that this version of the gateway cannot read. It goes to quarantine as text. */
export interface UnreadableEntry {
  readonly entryId: string;
  readonly posting?: never;
  readonly text: string;
  readonly call: UnreadableCall;
  /** 0 if the text does not show it. */
  readonly chargedMicroVnd: MicroVnd;
  /** Why the entry cannot be read, and what to do. */
  readonly reason: string;
  readonly membership?: Membership;
}

/**
 * The fields of a call, as far as the text of an unreadable entry shows them. Those that it does
 * not show are "" or 0.
 */
export interface UnreadableCall {
  /** `entry-` and a hash of the text if that does not show the id. */
  readonly callId: string;
  readonly accountId: string;
  readonly limits: readonly string[] | null;
  readonly at: number;
}

/** An entry of an outbox, a journal, a spool, or of the quarantine. */
export type StoredEntry = OutboxEntry | UnreadableEntry;
