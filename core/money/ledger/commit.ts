import { type Sql, sqlState } from "../../database/client.ts";
import { idTime, isId } from "../../process/id.ts";
import { EntryRefused } from "../ledger.ts";
import type { DebitEntry, OutboxEntry, Posting, ReadableEntry } from "../outbox-entry.ts";
import { nameOf } from "../unreadable.ts";
import { fenced, membershipsOf } from "./epochs.ts";
import type { PostgresHistory } from "./history.ts";
import { makeUsagePartition, repeatedCalls } from "./usage.ts";

/** Times outside these years are faults: a commit would only make useless partitions for them. */
const AT_MIN = Date.UTC(2020, 0);
const AT_MAX = Date.UTC(2100, 0);
const DAY_MS = 86_400_000;
/** SQLSTATE of a row without a partition, and of a row that a check refuses. */
const CHECK_VIOLATION = "23514";

const COMMIT = "select settle_calls($1::text::uuid[], $3::text::uuid[], $2::text::json)";
/**
 * Runs in the transaction of the commit. A call may be in quarantine as text, because another gateway runs a version that
 * cannot read it: its charge would then be taken off the wallet twice. If the ledger refuses a call, it stays there.
 */
const LEAVE_QUARANTINE = "leave_quarantine($3::text::text[])";
const AS_MEMBER = "require_members($4::text::text[])";

const DEBIT = "select debit_wallet($1, $2, $3, $4, $5, $6) as is_taken";
const OUT_OF_QUARANTINE = "leave_quarantine(array[$7::text])";
const DEBIT_AS_MEMBER = "require_members($8::text::text[])";

interface Commit {
  /** See `Ledger.commit`. Also takes the calls out of quarantine. */
  readonly all: (entries: readonly ReadableEntry[]) => Promise<readonly string[]>;
  /** Commits an entry of the quarantine. Rejects with `EntryRefused`, and leaves it there, if it is a debit that takes nothing. */
  readonly quarantined: (entry: ReadableEntry) => Promise<void>;
}

/** Commits the calls of a batch in one transaction, and each debit in one: see `settle_calls` and `debit_wallet`. */
export function createCommit(sql: Sql, history: PostgresHistory): Commit {
  /** Days since 1970 whose partitions exist. */
  const days = new Set<number>();

  const dayOf = (time: number) => Math.floor(time / DAY_MS);
  async function makePartitionOf(time: number): Promise<void> {
    await makeUsagePartition(sql, new Date(time).toISOString());
    days.add(dayOf(time));
  }

  async function makePartitions(postings: readonly Posting[]): Promise<void> {
    for (const { callId, at } of postings) {
      if (!(at >= AT_MIN && at < AT_MAX)) {
        throw new EntryRefused(`call ${callId} began at ${at}: not a time between 2020 and 2100`);
      }
      if (!days.has(dayOf(at))) await makePartitionOf(at);
      // The charge is in the partition of the id, which may be older than the call by some milliseconds.
      const madeAt = idTime(callId);
      const isTime = madeAt >= AT_MIN && madeAt < AT_MAX;
      if (isTime && !days.has(dayOf(madeAt))) await makePartitionOf(madeAt);
    }
  }

  async function commitCalls(entries: readonly OutboxEntry[]): Promise<void> {
    const fresh = onceEach(entries);
    if (fresh.length === 0) return;
    const accountIds = [...new Set(fresh.map((entry) => entry.posting.accountId))];
    const accounts = `{${accountIds.join(",")}}`;
    const callIds = `{${fresh.map((entry) => entry.posting.callId).join(",")}}`;
    const members = membershipsOf(fresh);
    // All calls leave quarantine, also those with nothing left to commit.
    const commit = async (left: readonly OutboxEntry[]) => {
      await makePartitions(left.map((entry) => entry.posting));
      const batch = [accounts, jsonOf(left), callIds, members];
      await history.commit(COMMIT, batch, `${LEAVE_QUARANTINE}, ${AS_MEMBER}`);
    };
    await commit(fresh).catch(async (error: unknown) => {
      if (sqlState(error) !== CHECK_VIOLATION) throw error;
      // A partition may be missing since a backup was restored. Or calls of an archived month come again: without them the second
      // attempt says if there are new ones.
      days.clear();
      const repeated = await repeatedCalls(sql, jsonOf(fresh));
      return commit(fresh.filter(({ posting }) => !repeated.has(posting.callId)));
    });
  }

  /** Returns false if the wallet gets the money back. `leave`: the call that takes it out of quarantine. */
  async function commitDebit(entry: DebitEntry, leave = OUT_OF_QUARANTINE): Promise<boolean> {
    const { accountId, kind, amountMicroVnd, reference, reason } = entry.debit;
    if (!isId(accountId)) return false;
    const movement = [accountId, kind, -amountMicroVnd, reference, reason, nameOf(entry)];
    const beside = [entry.call.callId, membershipsOf([entry])];
    const [row] = await history.commit<{ is_taken: boolean }>(
      DEBIT,
      [...movement, ...beside],
      `${leave}, ${DEBIT_AS_MEMBER}`,
    );
    return row?.is_taken ?? false;
  }

  return {
    async all(entries) {
      const debits = entries.filter((entry) => entry.posting === undefined);
      await commitCalls(entries.filter((entry) => entry.posting !== undefined)).catch(fail);
      const returned: string[] = [];
      for (const debit of debits) {
        if (!(await commitDebit(debit).catch(fail))) returned.push(debit.entryId);
      }
      return returned;
    },
    async quarantined(entry) {
      if (entry.posting) return commitCalls([entry]).catch(fail);
      // No hold store has the entry any more, so none would give the money back.
      const leave = `case when is_taken then ${OUT_OF_QUARANTINE} end`;
      if (!(await commitDebit(entry, leave).catch(fail))) throw new EntryRefused(NOT_TAKEN);
    },
  };
}

const NOT_TAKEN =
  "the balance does not cover it, or another movement has its reference. Credit the account and try again; " +
  "with the reference of another, it is never taken: credit the account with its amount";

function fail(error: unknown): never {
  throw isRefusal(error) ? new EntryRefused(String(error), { cause: error }) : fenced(error);
}

function jsonOf(entries: readonly OutboxEntry[]): string {
  return `[${entries.map((entry) => entry.text).join(",")}]`;
}

/** Returns the first entry of each call. */
function onceEach(entries: readonly OutboxEntry[]): OutboxEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ posting }) => {
    if (seen.has(posting.callId)) return false;
    seen.add(posting.callId);
    return true;
  });
}

/** Returns true for bad data (SQLSTATE class 22) and broken constraints (23): a retry would fail again. */
function isRefusal(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (state.startsWith("22") || state.startsWith("23"));
}
