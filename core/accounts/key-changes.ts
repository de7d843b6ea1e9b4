import type { Database } from "../database/database.ts";
import type { Clock } from "../process/clock.ts";
import { FIRST_ID } from "../process/id.ts";
import type { Log } from "../process/log.ts";
import { PeriodicTask } from "../process/periodic.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import type { KnownKeys } from "./accounts.ts";

const PAUSE_MS = 1_000;
/** A change is dated by its statement but visible only after its commit, so each poll looks back this much further. */
const COMMIT_MS_MAX = 5_000;

/** Yields pages of the changes of accounts and keys of the last `withinMs`. Other work gets turns between pages. */
type ReadChanges = (withinMs: number) => AsyncIterable<readonly AccountChange[]>;

/**
 * Polls every second for accounts and keys that another process has changed (status, discount or limit) and drops
 * them from this process's cache, once for each change. Needed only if several processes share the ledger.
 */
export class KeyChanges {
  private readonly task: PeriodicTask;
  private readonly log: ThrottledLog;
  private polledAtMs: number;
  private seen: ReadonlySet<string> = new Set();

  constructor(
    private readonly readChanges: ReadChanges,
    private readonly known: KnownKeys,
    private readonly clock: Clock,
    log: Log,
  ) {
    this.log = new ThrottledLog(log);
    this.polledAtMs = clock.monotonic();
    this.task = new PeriodicTask(() => this.poll());
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async poll(): Promise<number> {
    const nowMs = this.clock.monotonic();
    try {
      await this.apply(this.readChanges(nowMs - this.polledAtMs + COMMIT_MS_MAX));
      this.polledAtMs = nowMs;
    } catch (error) {
      // `polledAtMs` stays, so the next successful poll finds what changed during the outage.
      this.log.warn({ err: error }, "cannot poll key changes; keeping cached keys");
    }
    return PAUSE_MS;
  }

  private async apply(pages: AsyncIterable<readonly AccountChange[]>): Promise<void> {
    const seen = new Set<string>();
    for await (const changes of pages) {
      for (const { accountId, change } of changes) {
        seen.add(change);
        if (!this.seen.has(change)) this.known.forgetAccount(accountId);
      }
    }
    this.seen = seen;
  }
}

/** A change of an account or of one of its keys. */
export interface AccountChange {
  readonly accountId: string;
  /** Names the changed row and the time of the change. */
  readonly change: string;
}

/** Rows of `accountChanges` in one page: a statement for all accounts may change a million of them. */
const CHANGES_AT_ONCE = 1_000;

interface ChangeRow extends AccountChange {
  readonly at: string;
  readonly id: string;
}

/**
 * Yields the changes of the last `withinMs` in pages, the oldest first. Uses only the database's clock: see the triggers
 * in the migrations.
 */
export async function* accountChanges(
  database: Database,
  withinMs: number,
): AsyncGenerator<AccountChange[]> {
  const pageOf = (table: string, accountId: string) =>
    `(select ${accountId} as account_id, id, changed_at from ${table}
    where changed_at >= coalesce($1::text::timestamptz, now() - make_interval(secs => $3))
      and (changed_at, id) > (coalesce($1::text::timestamptz, now() - make_interval(secs => $3)), $2::uuid)
    order by changed_at, id limit $4)`;
  let after: { readonly at: string | null; readonly id: string } = { at: null, id: FIRST_ID };
  for (;;) {
    const rows: ChangeRow[] = await database.query<ChangeRow>(
      `select account_id as "accountId", id, changed_at::text as at,
        id || ' ' || extract(epoch from changed_at) as change
      from (${pageOf("accounts", "id")} union all ${pageOf("api_keys", "account_id")}) changes
      order by changed_at, changes.id limit $4`,
      [after.at, after.id, withinMs / 1_000, CHANGES_AT_ONCE],
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    if (rows.length < CHANGES_AT_ONCE) return;
    after = last;
  }
}
