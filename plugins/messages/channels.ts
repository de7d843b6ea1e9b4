import { createHmac, randomUUID } from "node:crypto";
import { objectOf, parseJson } from "../../core/plugin/index.ts";
import { delaysRecipient, reasonOf, refusesRecipient } from "./mail-failure.ts";
import { mailText, type Texts } from "./mail-text.ts";
import type { OperatorOptions } from "./options.ts";
import { sendJson } from "./send-json.ts";
import type { Transport } from "./transport.ts";

/** Telegram refuses longer texts. */
const TELEGRAM_CHARACTERS_MAX = 4_096;
const REASON_CHARACTERS_MAX = 200;

const TEST: Texts = {
  vi: { subject: "Tin thử", paragraphs: ["Tin này thử kênh báo cho người vận hành."] },
  en: { subject: "Trial", paragraphs: ["This message tries a channel to operators."] },
};

/** A message to operators. */
interface Notice {
  /** The same if it is sent twice. */
  readonly id: string;
  /** `trouble`, `trouble-again`, `trouble-over` or `test`. */
  readonly kind: string;
  /** Names what it is about, the same from beginning to end. */
  readonly about: string;
  readonly texts: Texts;
}

/** A message was not delivered. `failure` says why, without secrets. */
export class NotDelivered extends Error {
  /** The time that the channel asked to wait. */
  readonly retryMs: number | undefined;

  constructor(
    readonly failure: string,
    /** True if a retry is pointless. */
    readonly isFinal: boolean,
    retryMs?: number,
  ) {
    super(failure);
    this.retryMs = retryMs;
  }
}

/** Returns why a message was not delivered, from an error of a channel, a connection or the mail server. */
export function notDelivered(
  error: unknown,
): Pick<NotDelivered, "failure" | "isFinal" | "retryMs"> {
  if (error instanceof NotDelivered) return error;
  const { code, response_code } = reasonOf(error);
  const reason = String(response_code ?? code ?? (error instanceof Error ? error.name : "unknown"));
  const failure = delaysRecipient(error) ? `${reason} recipient` : reason;
  return { failure, isFinal: refusesRecipient(error), retryMs: undefined };
}

/** The ways to operators: mail, a webhook, Telegram. */
export class Channels {
  /** An address of mail, `webhook` or `telegram` each. */
  readonly names: readonly string[];
  private readonly options: OperatorOptions;

  /** Without options there is none. */
  constructor(
    options: OperatorOptions | undefined,
    private readonly transport: Transport,
  ) {
    const { mail = [], webhook, telegram } = options ?? {};
    this.options = options ?? { language: "vi", mail: [], remind_hours: 24 };
    this.names = [...mail, ...(webhook ? ["webhook"] : []), ...(telegram ? ["telegram"] : [])];
  }

  /** False once the config names a channel no longer. */
  has(name: string): boolean {
    return this.names.includes(name);
  }

  /** Sends a trial to each channel now. Returns how it went. */
  async test(): Promise<{ channel: string; sent: boolean; failure: string | null }[]> {
    const notice = { id: `test-${randomUUID()}`, kind: "test", about: "test", texts: TEST };
    return Promise.all(
      this.names.map(async (channel) => {
        try {
          await this.send(channel, notice);
          return { channel, sent: true, failure: null };
        } catch (error) {
          return { channel, sent: false, failure: notDelivered(error).failure };
        }
      }),
    );
  }

  /** Rejects with NotDelivered, or with the error of the connection. */
  async send(name: string, notice: Notice): Promise<void> {
    const { id, texts } = notice;
    // The config has changed since the message was written.
    if (!this.has(name)) throw new NotDelivered("no such channel any more", true);
    if (name === "webhook") return this.sendWebhook(notice);
    if (name === "telegram") return this.sendTelegram(notice);
    await this.transport.send(name, mailText(texts, this.options.language), { id });
  }

  private async sendWebhook({ id, kind, about, texts }: Notice): Promise<void> {
    const { webhook, language } = this.options;
    if (!webhook) return;
    const { subject, paragraphs } = texts[language];
    const body = JSON.stringify({ id, kind, about, subject, text: paragraphs.join("\n\n") });
    const at = Math.floor(Date.now() / 1000);
    const mac = createHmac("sha256", webhook.secret).update(`${at}.${body}`).digest("hex");
    const headers = { "x-tollgate-signature": `t=${at},v1=${mac}` };
    const { status } = await sendJson(webhook.url, body, headers, webhook.allow_private);
    if (status < 200 || status > 299) throw refused(status);
  }

  private async sendTelegram({ texts }: Notice): Promise<void> {
    const { telegram, language } = this.options;
    if (!telegram) return;
    const { subject, paragraphs } = texts[language];
    const text = [subject, ...paragraphs].join("\n\n").slice(0, TELEGRAM_CHARACTERS_MAX);
    const body = { chat_id: telegram.chat_id, text, link_preview_options: { is_disabled: true } };
    const address = `${telegram.api_url}/bot${telegram.token}/sendMessage`;
    // A server of one's own is at a private address.
    const reply = await sendJson(address, JSON.stringify(body), {}, true);
    if (reply.status === 200) return;
    const { description, parameters } = objectOf(parseJson(reply.text)) ?? {};
    const { retry_after: wait, migrate_to_chat_id: chat } = objectOf(parameters) ?? {};
    const newChat = chat === undefined ? "" : `; migrate_to_chat_id: ${chat}`;
    throw refused(reply.status, `${description ?? ""}${newChat}`, Number(wait) * 1000);
  }
}

/** A client's fault stays one: a wrong token, address or chat. */
function refused(status: number, reason = "", waitMs = Number.NaN): NotDelivered {
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const failure = `${status} ${reason}`.trim().slice(0, REASON_CHARACTERS_MAX);
  return new NotDelivered(failure, isFinal, waitMs > 0 ? waitMs : undefined);
}
