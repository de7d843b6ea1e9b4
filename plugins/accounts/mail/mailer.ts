import { isObject, type Log, TIMED_OUT, withTimeout } from "../../../core/contract/index.ts";
import type { Language } from "../options.ts";
import { type MailTemplate, mailText } from "./texts.ts";
import type { Transport } from "./transport.ts";

export interface Mail {
  readonly to: string;
  readonly language: Language;
  readonly letter: MailTemplate;
}

/** Finds out whether there is a mail to send, and which. */
type MailJob = () => Promise<Mail | undefined>;

const WAITING_MAX = 1000;
const AT_ONCE = 2;
/** A mail server that restarts is back by the last of these; the customer can ask again later. */
const RETRIES_MS = [1_000, 5_000, 20_000, 60_000];
const STOP_MS = 5_000;

/**
 * Sends mails behind the customer's back: no reply waits for a mail server, nor tells by its time whether
 * there was anything to send. At most 1,000 errands wait; they are gone with the process.
 */
export class Mailer {
  private readonly transport: Transport;
  private readonly log: Log;
  private readonly waiting: (() => Promise<void>)[] = [];
  private readonly running = new Set<Promise<void>>();
  /** Of mails that are sent again later. */
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(transport: Transport, log: Log) {
    this.transport = transport;
    this.log = log;
  }

  /** Whether `take` would refuse. */
  get isFull(): boolean {
    return this.waiting.length + this.timers.size >= WAITING_MAX;
  }

  /** False where too many errands wait already. */
  take(errand: MailJob): boolean {
    if (this.isFull) return false;
    this.enqueue(() => this.run(errand));
    return true;
  }

  /** Sends what can be sent in a few seconds, and gives up the rest. */
  async stop(): Promise<void> {
    const untilMs = performance.now() + STOP_MS;
    while (this.running.size > 0) {
      const oneEnds = Promise.race(this.running);
      if ((await withTimeout(oneEnds, untilMs - performance.now())) === TIMED_OUT) break;
    }
    for (const timer of this.timers) clearTimeout(timer);
    const left = this.waiting.splice(0).length + this.running.size + this.timers.size;
    if (left > 0) this.log.warn({ mails: left }, "mails were not sent before the stop");
    this.transport.close();
  }

  private enqueue(work: () => Promise<void>): void {
    this.waiting.push(work);
    this.next();
  }

  private next(): void {
    while (this.running.size < AT_ONCE) {
      const work = this.waiting.shift();
      if (!work) return;
      const run = work().finally(() => {
        this.running.delete(run);
        this.next();
      });
      this.running.add(run);
    }
  }

  private async run(errand: MailJob): Promise<void> {
    let mail: Mail | undefined;
    try {
      mail = await errand();
    } catch (error) {
      this.log.warn({ err: error }, "a mail could not be prepared");
    }
    if (mail) await this.send(mail, 0);
  }

  private async send(mail: Mail, attempt: number): Promise<void> {
    try {
      await this.transport.send(mail.to, mailText(mail.letter, mail.language));
    } catch (error) {
      const retryMs = RETRIES_MS[attempt];
      const { code, response_code } = reasonOf(error);
      const failure = { kind: mail.letter.kind, attempt: attempt + 1, code, response_code };
      // A server's 5xx is final: it would say the same again.
      if (retryMs === undefined || (typeof response_code === "number" && response_code >= 500)) {
        return this.log.error(failure, "a mail was given up");
      }
      this.log.warn(failure, "a mail was not taken; it is sent again");
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.enqueue(() => this.send(mail, attempt + 1));
      }, retryMs);
      this.timers.add(timer.unref());
    }
  }
}

/** What says why without saying what: messages of mail servers may quote the mail, and that holds a link. */
function reasonOf(error: unknown): { code: unknown; response_code: unknown } {
  const { code, responseCode } = isObject(error) ? error : {};
  return { code, response_code: responseCode };
}
