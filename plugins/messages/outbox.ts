import {
  failpoint,
  PeriodicTask,
  type Services,
  ThrottledLog,
  withTimeout,
} from "../../core/plugin/index.ts";
import { type Channels, NotDelivered, notDelivered } from "./channels.ts";
import { isSwitchable } from "./kinds.ts";
import { announcementText, mailText, type Texts } from "./mail-text.ts";
import type { SecretMails } from "./secret-mails.ts";
import type { Transport } from "./transport.ts";

const POLL_MS = 2_000;
const AT_ONCE = 20;
/** Longer than the transport's timeouts. After it, another gateway sends what a killed one had begun. */
const LEASE_MS = 300_000;
const RETRY_MS_MIN = 60_000;
const RETRY_MS_MAX = 3_600_000;
/** With the delays between them, about two days. */
const ATTEMPTS_MAX = 50;
const KEPT_MS = 90 * 86_400_000;
/** A mail server that takes nothing holds up no stop or reload: another gateway sends what is left after the lease. */
const STOP_MS = 5_000;

type Messages = Services["messages"]["current"];

/** Selects messages: those that wait, were given up, or were sent. */
type MessageState = "waiting" | "failed" | "sent";

interface Message {
  readonly id: bigint;
  /** The customer whom it is mailed to, or the channel to operators: one is null. */
  readonly accountId: string | null;
  readonly channel: string | null;
  /** Another address than the customer's. */
  readonly email: string | null;
  readonly kind: string;
  /** Of a message to operators: what it is about. */
  readonly about: string | null;
  /** Null for an announcement. */
  readonly texts: Texts | null;
  readonly announcement: string | null;
  readonly createdAt: Date;
  readonly dueAt: Date;
  readonly attempts: number;
  readonly failure: string | null;
  readonly failedAt: Date | null;
  readonly sentAt: Date | null;
}

/** Messages that are looked for. */
interface Wanted {
  readonly state: MessageState;
  readonly kind?: string | undefined;
  readonly account?: string | undefined;
  /** The id of the last message of the page before. */
  readonly before?: string | undefined;
  readonly limit: number;
}

interface Claimed
  extends Pick<
    Message,
    "id" | "accountId" | "email" | "channel" | "kind" | "about" | "texts" | "attempts"
  > {
  /** The text of an announcement; null for other messages. */
  readonly vi: string | null;
  readonly en: string | null;
  readonly token: string;
}

interface OperatorMessage {
  readonly cause: string;
  readonly kind: string;
  readonly about: string;
  readonly texts: Texts;
}

interface Parts {
  readonly services: Services;
  readonly transport: Transport;
  readonly channels: Channels;
  readonly secretMails: Pick<SecretMails, "counts" | "failingSince">;
}

const ROW = `id, account_id as "accountId", email, channel, kind, about, texts, announcement, created_at as "createdAt", due_at as "dueAt", attempts,
  failure, failed_at as "failedAt", sent_at as "sentAt"`;
const IS_IN: Readonly<Record<MessageState, string>> = {
  waiting: "sent_at is null and failed_at is null",
  failed: "failed_at is not null",
  sent: "sent_at is not null and failure is null",
};

/** Of a message by its id, or of all that were given up. */
const IS_CHOSEN =
  "sent_at is null and (id = $1::bigint or ($1::bigint is null and failed_at is not null))";

/** To a channel of operators that is no mail. */
const IS_POSTED = "coalesce(channel in ('webhook', 'telegram'), false)";

/** Of mails to customers. */
interface OutboxState {
  readonly givenUp: number;
  readonly newestGivenUp: Date | null;
  /** Since when the server has taken no mail to a customer, though one has failed; 0 if it takes them. */
  readonly lateSeconds: number;
}

/**
 * The messages that must not be lost: written to the ledger with their cause, and sent by one gateway, with retries for two
 * days. One cause has one message. A gateway that is killed while the mail server takes a mail leaves it open whether that
 * got it: it is sent again after five minutes, with the same Message-ID, by which mail servers drop a second copy.
 */
export class Outbox {
  private readonly throttledLog: ThrottledLog;
  private readonly mails = new PeriodicTask(() => this.round(`not ${IS_POSTED}`));
  /** Apart from mails: none waits for a mail server that takes nothing. */
  private readonly posted = new PeriodicTask(() => this.round(IS_POSTED));

  constructor(private readonly parts: Parts) {
    this.throttledLog = new ThrottledLog(parts.services.log);
  }

  /** See `Messages.post`. */
  async post({
    accountId,
    email,
    cause,
    kind,
    texts,
  }: Parameters<Messages["post"]>[0]): Promise<void> {
    await this.parts.services.database.query(
      `insert into messages (cause, account_id, kind, texts, created_at, due_at, email)
      select $1, $2::text::uuid, $3, $4::text::json, $5, $5, $6
      where not exists (
        select from message_settings where account_id = $2::text::uuid and $3 = any (off)
      )
      on conflict (cause) do nothing`,
      [cause, accountId, kind, JSON.stringify(texts), this.at(0), email ?? null],
    );
    this.mails.hurry();
  }

  /** Writes a message to a channel of operators. A second one of its cause is ignored. */
  async postTo(channel: string, { cause, kind, about, texts }: OperatorMessage): Promise<void> {
    await this.parts.services.database.query(
      `insert into messages (cause, channel, kind, about, texts, created_at, due_at)
      values ($1, $2, $3, $4, $5::text::json, $6, $6) on conflict (cause) do nothing`,
      [cause, channel, kind, about, JSON.stringify(texts), this.at(0)],
    );
    this.mails.hurry();
    this.posted.hurry();
  }

  /** See `Messages.announce`. */
  async announce({ name, kind, vi, en }: Parameters<Messages["announce"]>[0]) {
    const [row] = await this.parts.services.database.query<{ made: boolean; count: number }>(
      `with made as (
        insert into message_announcements (name, vi, en, made_at) values ($1, $2, $3, $4)
        on conflict (name) do nothing returning name
      ),
      written as (
        insert into messages (cause, account_id, kind, announcement, created_at, due_at)
        select 'announcement ' || name || ' ' || account_id, account_id, $5, name, $4, $4
        from made cross join mailable_accounts() as mailable (account_id)
        where not exists (
          select from message_settings settings
          where settings.account_id = mailable.account_id and $5 = any (off)
        )
        returning id
      )
      select exists (select from made) as made, (select count(*)::integer from written) as count`,
      [name, vi, en, this.at(0), kind],
    );
    this.mails.hurry();
    return row?.made ? row.count : undefined;
  }

  /** Returns messages, newest first. */
  list({ state, kind, account, before, limit }: Wanted): Promise<Message[]> {
    return this.parts.services.database.query<Message>(
      `select ${ROW} from messages
      where ${IS_IN[state]} and ($1::text is null or kind = $1)
        and ($2::text is null or account_id = $2::text::uuid) and ($3::text is null or id < $3::text::bigint)
      order by id desc limit $4`,
      [kind ?? null, account ?? null, before ?? null, limit],
    );
  }

  /** Returns a message, and of an announcement both texts. */
  async find(id: bigint): Promise<(Message & Pick<Claimed, "vi" | "en">) | undefined> {
    const [found] = await this.parts.services.database.query<Message & Pick<Claimed, "vi" | "en">>(
      `select ${ROW}, vi, en from messages left join message_announcements on name = announcement
      where id = $1`,
      [id],
    );
    return found;
  }

  /** Sends a message that was given up, or waits, now; without an id, all that were given up. Returns how many. */
  async retry(id?: bigint): Promise<number> {
    const found = await this.parts.services.database.query(
      `update messages set due_at = $2, attempts = 0, failed_at = null where ${IS_CHOSEN} returning id`,
      [id ?? null, this.at(0)],
    );
    this.mails.hurry();
    this.posted.hurry();
    return found.length;
  }

  /** Deletes a message that was given up, or waits; without an id, all that were given up. Returns how many. */
  async drop(id?: bigint): Promise<number> {
    const found = await this.parts.services.database.query(
      `delete from messages where ${IS_CHOSEN} returning id`,
      [id ?? null],
    );
    return found.length;
  }

  /** Returns what needs a person. */
  async state(): Promise<OutboxState> {
    const [row] = await this.parts.services.database.query<OutboxState>(
      `select count(*)::integer as "givenUp", max(failed_at) as "newestGivenUp", (
        select coalesce(greatest(extract(epoch from $1 - min(since)), 0), 0)::float8
        from (
          select created_at as since from messages
          where sent_at is null and failed_at is null and attempts > 0 and channel is null
            and (failure like '% recipient') is not true
          union all select $2
        ) failing
        where since > coalesce(
          (select max(sent_at) from messages where channel is null and failure is null), '-infinity'
        )
      ) as "lateSeconds"
      from messages where failed_at is not null and channel is null`,
      [this.at(0), this.parts.secretMails.failingSince ?? null],
    );
    return row ?? { givenUp: 0, newestGivenUp: null, lateSeconds: 0 };
  }

  /** Returns the channels that have refused a message for good and taken none since, and why. */
  deadChannels(): Promise<{ channel: string; failure: string }[]> {
    return this.parts.services.database.query<{ channel: string; failure: string }>(
      `select distinct on (channel) channel, failure from messages refused
      where channel is not null and failed_at is not null and not exists (
        select from messages taken where taken.channel = refused.channel and taken.sent_at > refused.failed_at
      )
      order by channel, id desc`,
    );
  }

  /** Deletes messages that were sent, or given up, long ago. */
  async sweep(): Promise<void> {
    await this.parts.services.database.query(
      "delete from messages where sent_at < $1 or failed_at < $1",
      [this.at(-KEPT_MS)],
    );
  }

  start(): void {
    this.mails.start();
    this.posted.start();
  }

  async stop(): Promise<void> {
    await withTimeout(Promise.all([this.mails.stop(), this.posted.stop()]), STOP_MS);
  }

  private async round(which: string): Promise<number> {
    try {
      const claimed = await this.claim(which);
      const results = await Promise.all(claimed.map((one) => this.send(one)));
      // An unreachable mail server is not asked for each of ten thousand mails at once.
      return claimed.length === AT_ONCE && results.every(Boolean) ? 0 : POLL_MS;
    } catch (error) {
      this.throttledLog.warn({ err: error }, "cannot read the outbox of messages; they wait");
      return POLL_MS;
    }
  }

  /** Takes messages that are due, so that no other gateway sends them. Those to operators come first, those to all customers last. */
  private claim(which: string): Promise<Claimed[]> {
    return this.parts.services.database.query<Claimed>(
      `update messages message set attempts = attempts + 1, failure = null, due_at = $2
      where id in (
        select id from messages
        where sent_at is null and failed_at is null and due_at <= $1 and ${which}
        order by (channel is null), (announcement is not null or kind = 'statement'), due_at, id
        limit ${AT_ONCE} for update skip locked
      )
      returning id, account_id as "accountId", email, channel, kind, about, texts, token::text as token, attempts,
        (select vi from message_announcements where name = announcement) as vi,
        (select en from message_announcements where name = announcement) as en`,
      [this.at(0), this.at(LEASE_MS)],
    );
  }

  /** Sends one message. One without a recipient is kept as if it were sent: else its cause would write it again. Returns false if it waits, or was given up. */
  private async send(message: Claimed): Promise<boolean> {
    const { services } = this.parts;
    const { counts } = this.parts.secretMails;
    const { id, kind, attempts, channel } = message;
    const { database, log } = services;
    try {
      const isSent = await this.deliver(message);
      if (isSent) {
        counts.sent++;
        failpoint("message.sent");
      }
      await database.query("update messages set sent_at = $2, failure = $3 where id = $1", [
        id,
        this.at(0),
        isSent ? null : "no recipient",
      ]);
      return true;
    } catch (error) {
      const { failure, ...found } = notDelivered(error);
      const isFinal = found.isFinal || attempts >= ATTEMPTS_MAX;
      const backoffMs = Math.min(RETRY_MS_MIN * 2 ** Math.min(attempts - 1, 10), RETRY_MS_MAX);
      const retryMs = Math.min(found.retryMs ?? backoffMs, RETRY_MS_MAX);
      const fields = { kind, attempt: attempts, failure };
      if (isFinal) {
        if (channel !== null) {
          // One that the config no longer has is not broken.
          if (this.parts.channels.has(channel)) counts.channel++;
        } else if (found.isFinal) counts.refused++;
        else counts.failed++;
        log.error(fields, "cannot send a message; giving up");
      } else log.warn(fields, "cannot send a message; retrying");
      await database
        .query("update messages set due_at = $2, failure = $3, failed_at = $4 where id = $1", [
          id,
          this.at(retryMs),
          failure,
          isFinal ? this.at(0) : null,
        ])
        // Its lease ends.
        .catch(() => undefined);
      return false;
    }
  }

  /** Sends a message to operators, or mails it to its customer in his language. Returns false if he has no address that may get it. */
  private async deliver(message: Claimed): Promise<boolean> {
    const { id, accountId, channel, kind, about, texts, vi, en, token } = message;
    const { services, transport, channels } = this.parts;
    if (channel !== null && texts !== null) {
      await channels.send(channel, { id: `message-${id}`, kind, about: about ?? "", texts });
      return true;
    }
    if (accountId === null) return false;
    const { publicUrl } = services.customers.current;
    // While the gateway stops, the plugin that does is gone first.
    if (publicUrl === undefined) throw new NotDelivered("no plugin signs customers in", false);
    const owner = await services.customers.current.recipient(accountId);
    const canBeOff = isSwitchable(kind);
    if (!owner || (canBeOff && !owner.isEmailVerified)) return false;
    const { language } = owner;
    const switchAt = canBeOff ? `${publicUrl}/dashboard/account` : undefined;
    const announced = language === "vi" ? vi : en;
    const mail =
      texts === null
        ? announcementText(announced ?? "", language, switchAt ?? publicUrl)
        : mailText(texts, language, switchAt);
    await transport.send(message.email ?? owner.email, mail, {
      id: `message-${id}`,
      unsubscribeAt: canBeOff ? `${publicUrl}/account/v1/unsubscribe/${id}/${token}` : undefined,
    });
    return true;
  }

  private at(inMs: number): Date {
    return new Date(this.parts.services.clock.now() + inMs);
  }
}
