import {
  done,
  formatVnd,
  type OperatorRoute,
  reading,
  type Services,
} from "../../core/plugin/index.ts";
import { holdPage } from "./input.ts";

type StandingCall = ReturnType<Services["operations"]["current"]["unsent"]>[number];

/** Maximum overdue calls in one reply. */
const ROWS_MAX = 1000;
/** A hold outlives the longest call by less than this: by the lease of a dead gateway. */
const GRACE_MS = 180_000;

/** An item that has to end: a hold, a posted call that is not in the ledger, or a call in quarantine. */
interface Standing extends Omit<StandingCall, "kind" | "process"> {
  readonly kind: "hold" | "uncommitted" | "quarantine";
  readonly process: string | null;
}

/** Route to list the money that is held, oldest first. */
export function holdRoutes({ operations, clock }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/holds",
      handle: reading(holdPage, async (page) => {
        const oldest = new Oldest(page.limit);
        for await (const calls of operations.current.standing()) {
          oldest.add(calls.filter(({ kind }) => kind === "hold").map(standing));
        }
        return done(oldest.rows.map((call) => rowOf(call, clock.now())));
      }),
    },
  ];
}

/**
 * Finds items that are older than a call may last: no call or gateway ends them any more. Returns their number and the
 * oldest rows. `olderThanMs`: default the longest call of the config, and 3 minutes.
 */
export async function overdueCalls(
  { operations, clock, config }: Services,
  olderThanMs = config.limits.callMs + GRACE_MS,
): Promise<{ overdue: number; overdue_rows: object[] }> {
  const nowMs = clock.now();
  const oldest = new Oldest(ROWS_MAX);
  const add = (calls: Standing[]) =>
    oldest.add(calls.filter(({ sinceMs }) => sinceMs < nowMs - olderThanMs));
  for await (const calls of operations.current.standing()) add(calls.map(standing));
  add(operations.current.unsent().map(standing));
  const quarantined = await operations.current.quarantineList(ROWS_MAX);
  add(
    quarantined.map(({ entry, since }) => {
      const { callId, accountId } = entry.posting ?? entry.call;
      const call = { callId, accountId, reference: null, microVnd: entry.chargedMicroVnd };
      return { kind: "quarantine", ...call, sinceMs: since.getTime(), process: null };
    }),
  );
  return { overdue: oldest.count, overdue_rows: oldest.rows.map((call) => rowOf(call, nowMs)) };
}

/** Keeps the oldest few of many. */
class Oldest {
  private readonly seen = new Set<string>();
  rows: Standing[] = [];

  constructor(private readonly max: number) {}

  /** How many items were added. Redis may return one twice. */
  get count(): number {
    return this.seen.size;
  }

  add(calls: readonly Standing[]): void {
    for (const call of calls) {
      const name = `${call.kind} ${call.callId}`;
      if (this.seen.has(name)) continue;
      this.seen.add(name);
      this.rows.push(call);
    }
    this.rows.sort((one, other) => one.sinceMs - other.sinceMs);
    this.rows.splice(this.max);
  }
}

function standing(call: StandingCall): Standing {
  return { ...call, kind: call.kind === "post" ? "uncommitted" : "hold" };
}

function rowOf(call: Standing, nowMs: number): object {
  const { kind, callId, reference, accountId, microVnd, sinceMs, process } = call;
  return {
    kind,
    call_id: reference === null ? callId : null,
    movement: reference,
    account_id: accountId === "" ? null : accountId,
    amount_vnd: formatVnd(microVnd),
    since: new Date(sinceMs).toISOString(),
    age_seconds: Math.max(0, Math.round((nowMs - sinceMs) / 1_000)),
    process: process === "" ? null : process,
  };
}
