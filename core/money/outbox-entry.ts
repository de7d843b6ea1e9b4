import type { MicroVnd } from "../catalogue/amount.ts";
import type { PostedUsage } from "./usage-fields.ts";

/**
 * The version of the names in the text of an entry. A new nullable field needs no new version: an older reader commits the
 * text unchanged, and a text without the field reads as null.
 */
export const ENTRY_VERSION = 1;

/** The charge and the usage record of a call that has ended. Never any content. */
export interface Posting extends PostedUsage {
  /** The computed cost; the wallet may cover less. `purses` names the purses of the call's hold. */
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

/** A movement of money other than a call. */
export interface Movement {
  readonly accountId: string;
  /**
   * Negative for one that takes money away. Refused if the wallet would go below zero.
   */
  readonly amountMicroVnd: bigint;
  readonly reference: string;
  readonly kind: "topup" | "adjustment";
  readonly reason: string | null;
}

/** Money that an operator takes away, on its way to the ledger. */
export interface DebitEntry {
  readonly entryId: string;
  readonly posting?: never;
  readonly text: string;
  readonly call: EntryCall;
  readonly chargedMicroVnd: MicroVnd;
  /** Its amount is negative. */
  readonly debit: Movement;
  /** The ledger has another movement under this reference, or refuses it: the wallet gets the money back. */
  readonly isReturned?: boolean;
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
  readonly call: EntryCall;
  /** 0 if the text does not show it. */
  readonly chargedMicroVnd: MicroVnd;
  /** Why the entry cannot be read, and what to do. */
  readonly reason: string;
  readonly membership?: Membership;
}

/**
 * The fields of a call that every entry has. Those that the text of an unreadable entry does not show are "" or 0.
 */
export interface EntryCall {
  /** `entry-` and a hash of the text if that does not show the id. The same for each attempt of a debit. */
  readonly callId: string;
  readonly accountId: string;
  readonly purses: readonly string[] | null;
  readonly at: number;
}

/** An entry that the ledger can commit. */
export type ReadableEntry = OutboxEntry | DebitEntry;

/** An entry of an outbox, a journal, a spool, or of the quarantine. */
export type StoredEntry = ReadableEntry | UnreadableEntry;

/** Of ids of calls and accounts, and of purses. They have no `|`, `=` or zero byte, which separate them in Redis. */
const NAME = /^[\w:.-]{1,100}$/;

/** Returns true for what can be the id of a call or an account, or the name of a purse. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

export function isReadable(entry: StoredEntry): entry is ReadableEntry {
  return !("reason" in entry);
}
