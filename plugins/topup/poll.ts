import { setTimeout } from "node:timers/promises";
import { messageOf, PeriodicTask, type Services, ThrottledLog } from "../../core/plugin/index.ts";
import type { Crediting } from "./crediting.ts";
import type { Settings } from "./options.ts";
import type { Recording } from "./recording.ts";
import { LISTED_MAX, ListFailure, listedTransfers } from "./sepay-list.ts";

const LOOK_MS = 3_000;
/** SePay may list a transfer hours after it happened. */
const OVERLAP_MS = 86_400_000;
/** So that one request reads all, if the last turn read to the end. */
const WINDOW_MS = 2 * OVERLAP_MS;
const WINDOW_MS_MIN = 60_000;
/** A transfer that has just happened is being notified. */
const GRACE_MS = 60_000;
/** SePay takes two requests a second. */
const BETWEEN_REQUESTS_MS = 1_000;
/** A gateway that was down for long goes on at its next turn. */
const REQUESTS_MAX = 50;
const BACKOFF_MS_MAX = 3_600_000;
/** Longer than a turn takes, so that a gateway that has died in its turn does not keep it. */
const TURN_MS = 1_800_000;

interface State {
  readonly isDue: boolean;
  readonly readFrom: Date | null;
  readonly polledAt: Date | null;
  readonly failures: number;
}

/**
 * Reads SePay's list of transactions, and records and credits what SePay did not notify. One of the gateways does it at a
 * time; how far the list is read stands in the database. Two at once would do no harm.
 */
export class Poll {
  /** When the list was last read to its end by any gateway, or this poll began. Unix time in ms. */
  lastMs: number;
  private readonly poll: NonNullable<Settings["poll"]>;
  private readonly log: ThrottledLog;
  private readonly task = new PeriodicTask(() => this.round());
  private readonly stopping = new AbortController();

  constructor(
    private readonly services: Services,
    private readonly settings: Settings,
    poll: Poll["poll"],
    private readonly recording: Recording,
    private readonly crediting: Crediting,
  ) {
    this.poll = poll;
    this.log = new ThrottledLog(services.log);
    this.lastMs = services.clock.now();
  }

  start(): void {
    this.task.start();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.task.stop();
  }

  private async round(): Promise<number> {
    try {
      const state = await this.state();
      if (state?.polledAt) this.lastMs = state.polledAt.getTime();
      const turn = !state || state.isDue ? await this.takeTurn() : undefined;
      if (turn) await this.read(turn);
    } catch (error) {
      this.log.warn({ err: error }, "cannot read SePay's list or record it; trying again");
    }
    return LOOK_MS;
  }

  private async state(): Promise<State | undefined> {
    const [state] = await this.services.database.query<State>(
      `select next_at <= now() as "isDue", read_from as "readFrom", polled_at as "polledAt", failures
      from transfer_poll`,
    );
    return state;
  }

  /** Of all gateways, one gets the turn. */
  private async takeTurn(): Promise<State | undefined> {
    const [turn] = await this.services.database.query<State>(
      `insert into transfer_poll as p (next_at) values (now() + $1 * interval '1 ms')
      on conflict (single) do update set next_at = excluded.next_at where p.next_at <= now()
      returning true as "isDue", read_from as "readFrom", polled_at as "polledAt", failures`,
      [TURN_MS],
    );
    return turn;
  }

  private async read({ readFrom, failures }: State): Promise<void> {
    const intervalMs = this.poll.interval_seconds * 1_000;
    try {
      const isAtEnd = await this.readList(readFrom);
      await this.endTurn(isAtEnd ? intervalMs : 0, 0, isAtEnd);
    } catch (error) {
      if (this.stopping.signal.aborted) return await this.endTurn(0, failures, false);
      const askedMs = error instanceof ListFailure ? error.retryAfterSeconds * 1_000 : 0;
      const longestMs = Math.max(BACKOFF_MS_MAX, intervalMs);
      const waitMs = Math.max(askedMs, Math.min(longestMs, intervalMs * 2 ** failures));
      this.log.warn(
        { reason: messageOf(error), retry_seconds: waitMs / 1_000 },
        "cannot read SePay's list of transactions; trying again later",
      );
      await this.endTurn(waitMs, failures + 1, false);
    }
  }

  /** Reads on in periods that have fewer transfers than SePay lists at once. Returns true at the end. */
  private async readList(readFrom: Date | null): Promise<boolean> {
    const endMs = this.services.clock.now() - GRACE_MS;
    let fromMs = readFrom?.getTime() ?? endMs - OVERLAP_MS;
    let windowMs = WINDOW_MS;
    for (let request = 0; request < REQUESTS_MAX && fromMs < endMs; request++) {
      const { signal } = this.stopping;
      if (request > 0) await setTimeout(BETWEEN_REQUESTS_MS, undefined, { signal });
      const toMs = Math.min(fromMs + windowMs, endMs);
      const [from, to] = [new Date(fromMs), new Date(toMs)];
      const reports = await listedTransfers(this.settings, this.poll, from, to, signal);
      if (!reports) {
        if (windowMs <= WINDOW_MS_MIN) {
          throw new ListFailure(`SePay lists ${LISTED_MAX} transactions or more in one minute`);
        }
        windowMs = Math.max(WINDOW_MS_MIN, Math.floor((toMs - fromMs) / 2));
        continue;
      }
      for (const { transfer, isNew } of await this.recording.record(reports)) {
        if (isNew) await this.crediting.creditSoon(transfer);
      }
      fromMs = toMs;
      await this.services.database.query("update transfer_poll set read_from = $1", [
        new Date(fromMs < endMs ? fromMs : endMs - OVERLAP_MS),
      ]);
    }
    return fromMs >= endMs;
  }

  private async endTurn(waitMs: number, failures: number, isAtEnd: boolean): Promise<void> {
    await this.services.database.query(
      `update transfer_poll set next_at = now() + $1 * interval '1 ms', failures = $2,
        polled_at = case when $3 then now() else polled_at end`,
      [waitMs, failures, isAtEnd],
    );
  }
}
