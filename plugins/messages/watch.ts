import { PeriodicTask, type Services, ThrottledLog, withTimeout } from "../../core/plugin/index.ts";
import type { Channels } from "./channels.ts";
import { LedgerOutage } from "./ledger-outage.ts";
import type { Outbox } from "./outbox.ts";
import { troubleTexts } from "./trouble-texts.ts";
import { findTroubles, ofChannel, type Trouble } from "./troubles.ts";

const LOOK_MS = 5_000;
const STOP_MS = 5_000;
/** A trouble that is over sooner needs no person. */
const NEW_SECONDS = 60;
/** A trouble that no gateway has seen for so long is over: one that comes and goes is one. */
const GONE_MS = 180_000;
const HOUR_MS = 3_600_000;
/** Of a trouble that grows, messages are at least so far apart. */
const NEWS_MS = 300_000;

interface Row {
  readonly cause: string;
  readonly trouble: Trouble;
  readonly began: Date;
  readonly told: Date | null;
  readonly newest: Date | null;
  /** A part of it is newer than those of the last message. */
  readonly isNews: boolean;
  readonly isOver: boolean;
}

interface Watched {
  readonly services: Services;
  readonly outbox: Outbox;
  readonly channels: Channels;
  readonly consoleUrl: string;
  readonly remindHours: number;
}

/**
 * Writes operators what needs a person: when it begins, each day, and when it is over. Every gateway reports what it sees to one
 * table, so a trouble that several see is one. Messages have a cause, so several gateways write one.
 */
export class Watch {
  private readonly log: ThrottledLog;
  private readonly task = new PeriodicTask(async () => {
    try {
      await this.look();
      await this.outage.works();
    } catch (error) {
      this.log.warn({ err: error }, "cannot record what needs a person; trying again in 5 s");
      await this.outage.fails();
    }
    return LOOK_MS;
  });
  private readonly outage: LedgerOutage;

  constructor(private readonly watched: Watched) {
    this.log = new ThrottledLog(watched.services.log);
    this.outage = new LedgerOutage({ ...watched, log: this.log });
  }

  start(): void {
    this.task.start();
  }

  /** Waits a moment for what is being written: a mail server that hangs must not hold up a stop. */
  async stop(): Promise<void> {
    await withTimeout(this.task.stop(), STOP_MS);
  }

  private async look(): Promise<void> {
    const { services, outbox, channels } = this.watched;
    const { database } = services;
    const dead = (await outbox.deadChannels()).filter(({ channel }) => channels.has(channel));
    const found = [...findTroubles(services), ...dead.map(ofChannel)];
    const troubles = found.map(({ newest, ...trouble }) => ({
      ...{ cause: trouble.cause, trouble, newest },
    }));
    await database.query(
      `insert into message_troubles as known (cause, trouble, newest_at, began_at, seen_at)
      select cause, trouble, newest, $2, $2
      from json_to_recordset($1::text::json) seen (cause text, trouble json, newest timestamptz)
      on conflict (cause) do update
        set trouble = excluded.trouble, seen_at = greatest(known.seen_at, excluded.seen_at),
          newest_at = greatest(known.newest_at, excluded.newest_at)`,
      [JSON.stringify(troubles), this.at(0)],
    );
    const rows = await database.query<Row>(
      `select cause, trouble, began_at as began, told_at as told, newest_at as newest,
        coalesce(newest_at > told_newest_at, false) as "isNews", seen_at < $1 as "isOver"
      from message_troubles
      where seen_at < $1 or told_at < $2 or (newest_at > told_newest_at and told_at < $3)
        or (told_at is null and seen_at - began_at >= interval '${NEW_SECONDS} seconds')
      order by began_at limit 100`,
      [this.at(-GONE_MS), this.at(-this.watched.remindHours * HOUR_MS), this.at(-NEWS_MS)],
    );
    for (const row of rows) await (row.isOver ? this.end(row) : this.tell(row));
  }

  /** Writes that a trouble has begun, has grown, or lasts. */
  private async tell({ cause, trouble, began, told, newest, isNews }: Row): Promise<void> {
    const kind = told === null || isNews ? "trouble" : "trouble-again";
    await this.post(kind, trouble, began, `${kind} ${began.getTime()} ${told?.getTime() ?? ""}`);
    await this.watched.services.database.query(
      `update message_troubles set told_at = $2, told_newest_at = $4
      where cause = $1 and told_at is not distinct from $3`,
      [cause, this.at(0), told, newest],
    );
  }

  private async end({ cause, trouble, began, told }: Row): Promise<void> {
    if (told !== null) await this.post("trouble-over", trouble, began, `over ${began.getTime()}`);
    await this.watched.services.database.query(
      "delete from message_troubles where cause = $1 and began_at = $2 and seen_at < $3",
      [cause, began, this.at(-GONE_MS)],
    );
  }

  private async post(kind: string, trouble: Trouble, began: Date, when: string): Promise<void> {
    const { outbox, channels, consoleUrl } = this.watched;
    const texts = troubleTexts(kind, trouble, began, consoleUrl);
    for (const address of channels.names) {
      const cause = `${trouble.cause} ${when} ${address}`;
      await outbox.postTo(address, { cause, kind, about: trouble.cause, texts });
    }
  }

  private at(inMs: number): Date {
    return new Date(this.watched.services.clock.now() + inMs);
  }
}
