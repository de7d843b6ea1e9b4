import { PeriodicTask, type Services, ThrottledLog } from "../../../core/plugin/index.ts";
import type { Credentials } from "../credentials.ts";
import type { Language } from "../options.ts";
import { type Mailer, reasonOf } from "./mailer.ts";
import { type MailText, mailText, type Notice } from "./texts.ts";
import type { Transport } from "./transport.ts";

const POLL_MS = 2_000;
const AT_ONCE = 20;
/** Longer than the transport's timeouts. After it, another gateway sends what a killed one had begun. */
const LEASE_MS = 300_000;
const RETRY_MS_MIN = 60_000;
const RETRY_MS_MAX = 3_600_000;
/** With the delays between them, about two days. */
const ATTEMPTS_MAX = 50;
const SENT_KEPT_MS = 90 * 86_400_000;

/** A mail that waits, or was given up. */
interface Message {
  readonly id: bigint;
  readonly accountId: string;
  readonly kind: string;
  readonly about: string | null;
  readonly createdAt: Date;
  readonly dueAt: Date;
  readonly attempts: number;
  readonly failure: string | null;
  readonly failedAt: Date | null;
}

interface Claimed extends Pick<Message, "id" | "accountId" | "kind" | "about" | "attempts"> {
  /** The text of an announcement; null for other mails. */
  readonly vi: string | null;
  readonly en: string | null;
}

interface Parts {
  readonly services: Services;
  readonly transport: Transport;
  readonly counts: Mailer["counts"];
  account(accountId: string): Promise<Credentials | undefined>;
  languageOf(account: Credentials): Language;
}

/**
 * The mails that must not be lost: written to the ledger with their cause, and sent by one gateway, with retries for two
 * days. One cause has one mail. A gateway that is killed while the mail server takes a mail leaves it open whether that
 * got it: it is sent again after five minutes, with the same Message-ID, by which mail servers drop a second copy.
 */
export class Outbox {
  private readonly parts: Parts;
  private readonly throttledLog: ThrottledLog;
  private readonly task = new PeriodicTask(() => this.round());

  constructor(parts: Parts) {
    this.parts = parts;
    this.throttledLog = new ThrottledLog(parts.services.log);
  }

  /** Writes a mail to the owner of an account. Resolves once it cannot be lost. A second one of this cause is ignored. */
  async write(accountId: string, kind: Notice, about: string | undefined, cause: string) {
    await this.parts.services.database.query(
      `insert into account_messages (cause, account_id, kind, about, created_at, due_at)
      values ($1, $2, $3, $4, $5, $5) on conflict (cause) do nothing`,
      [cause, accountId, kind, about ?? null, this.at(0)],
    );
    this.hurry();
  }

  /**
   * Writes a mail to every customer with a verified address who wants announcements. Returns how many; undefined if one of this
   * name was written before.
   */
  async announce(name: string, texts: Readonly<Record<Language, string>>) {
    const [row] = await this.parts.services.database.query<{ made: boolean; count: number }>(
      `with made as (
        insert into account_announcements (name, vi, en, made_at) values ($1, $2, $3, $4)
        on conflict (name) do nothing returning name
      ),
      written as (
        insert into account_messages (cause, account_id, kind, about, created_at, due_at)
        select 'announcement ' || name || ' ' || account_id, account_id, 'announcement', name, $4, $4
        from made, account_credentials where verified_at is not null and announcements
        returning id
      )
      select exists (select from made) as made, (select count(*)::integer from written) as count`,
      [name, texts.vi, texts.en, this.at(0)],
    );
    this.hurry();
    return row?.made ? row.count : undefined;
  }

  /** Returns mails that wait, or those that were given up, oldest first. */
  list(which: "waiting" | "failed", limit: number): Promise<Message[]> {
    return this.parts.services.database.query<Message>(
      `select id, account_id as "accountId", kind, about, created_at as "createdAt", due_at as "dueAt", attempts,
        failure, failed_at as "failedAt"
      from account_messages
      where sent_at is null and (failed_at is not null) = $1 order by id limit $2`,
      [which === "failed", limit],
    );
  }

  /** Sends a mail that was given up, or waits, now. Returns false if there is none of this id. */
  async retry(id: bigint): Promise<boolean> {
    const found = await this.parts.services.database.query(
      `update account_messages set due_at = $2, attempts = 0, failed_at = null
      where id = $1 and sent_at is null returning id`,
      [id, this.at(0)],
    );
    this.hurry();
    return found.length > 0;
  }

  /** Deletes mails that were sent long ago. */
  async sweep(): Promise<void> {
    await this.parts.services.database.query("delete from account_messages where sent_at < $1", [
      this.at(-SENT_KEPT_MS),
    ]);
  }

  start(): void {
    this.task.start();
  }

  hurry(): void {
    this.task.hurry();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async round(): Promise<number> {
    try {
      const claimed = await this.claim();
      const results = await Promise.all(claimed.map((one) => this.send(one)));
      // An unreachable mail server is not asked for each of ten thousand mails at once.
      return claimed.length === AT_ONCE && results.every(Boolean) ? 0 : POLL_MS;
    } catch (error) {
      this.throttledLog.warn({ err: error }, "cannot read the outbox of mails; they wait");
      return POLL_MS;
    }
  }

  /** Takes mails that are due, so that no other gateway sends them. */
  private claim(): Promise<Claimed[]> {
    return this.parts.services.database.query<Claimed>(
      `update account_messages message set attempts = attempts + 1, due_at = $2
      where id in (
        select id from account_messages
        where sent_at is null and failed_at is null and due_at <= $1
        order by due_at, id limit ${AT_ONCE} for update skip locked
      )
      returning id, account_id as "accountId", kind, about, attempts,
        (select vi from account_announcements where name = about and kind = 'announcement') as vi,
        (select en from account_announcements where name = about and kind = 'announcement') as en`,
      [this.at(0), this.at(LEASE_MS)],
    );
  }

  /** Sends one mail. Returns false if it was not sent. */
  private async send(message: Claimed): Promise<boolean> {
    const { transport, account, languageOf, counts, services } = this.parts;
    const { id, accountId, kind, attempts } = message;
    const { database, log } = services;
    try {
      const owner = await account(accountId);
      const text = owner && textOf(message, languageOf(owner));
      if (owner && text) {
        await transport.send(owner.email, text, `message-${id}`);
        counts.sent++;
      }
      await database.query(
        "update account_messages set sent_at = $2, failure = null where id = $1",
        [id, this.at(0)],
      );
      return true;
    } catch (error) {
      const { code, response_code } = reasonOf(error);
      const isFinal = Number(response_code) >= 500 || attempts >= ATTEMPTS_MAX;
      const failure = String(response_code ?? code ?? "unknown");
      const retryMs = Math.min(RETRY_MS_MIN * 2 ** Math.min(attempts - 1, 10), RETRY_MS_MAX);
      const fields = { kind, attempt: attempts, code, response_code };
      if (isFinal) {
        counts.failed++;
        log.error(fields, "cannot send a mail; giving up");
      } else log.warn(fields, "cannot send a mail; retrying");
      await database
        .query(
          "update account_messages set due_at = $2, failure = $3, failed_at = $4 where id = $1",
          [id, this.at(retryMs), failure, isFinal ? this.at(0) : null],
        )
        // Its lease ends.
        .catch(() => undefined);
      return false;
    }
  }

  private at(inMs: number): Date {
    return new Date(this.parts.services.clock.now() + inMs);
  }
}

function textOf({ kind, about, vi, en }: Claimed, language: Language): MailText | undefined {
  if (kind !== "announcement") {
    return mailText({ kind: kind as Notice, about: about ?? undefined }, language);
  }
  const text = language === "vi" ? vi : en;
  if (text === null) return undefined;
  const [subject = "", ...rest] = text.trim().split("\n");
  return { subject: subject.trim(), text: `${rest.join("\n").trim()}\n` };
}
