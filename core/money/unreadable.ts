import { createHash } from "node:crypto";
import type { MicroVnd } from "../catalogue/amount.ts";
import { countOf, objectOf } from "../process/json.ts";
import {
  ENTRY_VERSION,
  type EntryCall,
  isName,
  type StoredEntry,
  type UnreadableEntry,
} from "./outbox-entry.ts";

const HASH_DIGITS = 32;

/**
 * Returns an entry that this version cannot read, with what its text shows under the names that every version has used.
 * `row` is the parsed text.
 */
export function unreadableEntry(entryId: string, text: string, row: unknown): UnreadableEntry {
  const { v: version, call_id, account_id, at, purses, charged } = objectOf(row) ?? {};
  const of = typeof version === "number" ? `of version ${version}` : "without a version";
  return {
    entryId,
    text,
    call: {
      callId: isName(call_id) ? call_id : idOf(text),
      accountId: isName(account_id) ? account_id : "",
      purses: Array.isArray(purses) && purses.every(isName) ? purses : null,
      at: typeof at === "string" ? Date.parse(at) || 0 : 0,
    },
    chargedMicroVnd: countOf(charged) ?? 0,
    reason:
      `cannot read an entry ${of}: this gateway reads versions up to ${ENTRY_VERSION}. ` +
      "Install the version of the gateway that wrote it, then retry",
  };
}

/** Returns the call of an entry, as far as its text shows it. */
export function callOf(entry: StoredEntry): EntryCall {
  return entry.posting ?? entry.call;
}

/** Returns the cost of an entry, or the charge that it shows if it is of no call. */
export function costOf(entry: StoredEntry): MicroVnd {
  return entry.posting?.costMicroVnd ?? entry.chargedMicroVnd;
}

/**
 * Returns the name of an entry in the ledger. A place in Redis is used once, also if it is read again. A journal that begins
 * again uses its positions again, at another time.
 */
export function nameOf(entry: StoredEntry): string {
  const { entryId } = entry;
  return entryId.includes("|") ? entryId : `${entryId} ${callOf(entry).at}`;
}

/** The same text gets the same id, so that it is in quarantine once. */
function idOf(text: string): string {
  return `entry-${createHash("sha256").update(text).digest("hex").slice(0, HASH_DIGITS)}`;
}
